import { expect } from "chai";
import { findJob } from "../../../../src/projections/pipeline/query.ts";
import { jobPayload } from "../../../../src/services/pipeline/payload.ts";
import {
  environmentStopWorker,
  sweepExpiredEnvironments,
} from "../../../../src/workers/pipeline/stop-environment.ts";
import { eventually } from "../../../support/app/eventually.ts";
import { givenEnvironments, review } from "../../../support/pipeline/environments.ts";

const { app, anna, bob, token, given } = await givenEnvironments();

/** The app has all that a sweep of environments works with. */
async function sweepTomorrow() {
  const tomorrow = new Date(Date.now() + 25 * 3_600_000);
  type Deps = Parameters<typeof sweepExpiredEnvironments>[0];
  await sweepExpiredEnvironments({ ...app.deps, now: () => tomorrow } as unknown as Deps);
}

describe("environments", () => {
  it("keep the last successful deployment when a later one fails, and stop again after a failure", async () => {
    const { ci, environments, deployments, stop, stops, settled } = await given(review);
    await ci.start();
    await ci.run();
    const [first] = await environments();
    await ci.start();
    await ci.run("RecordJobFailed");
    const [environment] = await environments();
    expect(environment!["lastDeployment"]).to.deep.equal(first!["lastDeployment"]);
    const id = environment!["id"];
    expect((await deployments(id)).map(({ number, status }) => [number, status])).to.deep.equal([
      [2, "FAILED"],
      [1, "SUCCESS"],
    ]);
    expect((await deployments(id, "?status=SUCCESS&size=1")).length).to.equal(1);

    await stop(id);
    await ci.run("RecordJobFailed");
    expect((await environments())[0]).to.include({ state: "AVAILABLE" });
    await settled(1, { deploy: "SUCCESS", undeploy: "WARNING" });
    await stops(id, "STOPPING");
    expect((await stop(id, anna, { force: true })).body["state"]).to.equal("STOPPED");
  });

  it("are stopped when their branch is deleted, and when their time is over", async () => {
    const { ci, environments } = await given(review);
    const branch = { newBranch: "topic", originBranch: "main" };
    const made = await app.post(`${ci.base}/branch`, { token, body: branch });
    expect(made.status, made.text).to.equal(200);
    await ci.start();
    await ci.run();
    await ci.start({ refName: "topic", isTag: false });
    await ci.run();
    const gone = await app.delete(`${ci.base}/branch?branchName=topic`, { token });
    expect(gone.status, gone.text).to.equal(200);
    const states = async () => (await environments()).map(({ name, state }) => [name, state]);
    await eventually(async () =>
      expect(await states()).to.deep.equal([
        ["review/main", "AVAILABLE"],
        ["review/topic", "STOPPING"],
      ]),
    );

    await sweepTomorrow();
    await eventually(async () =>
      expect(await states()).to.deep.equal([
        ["review/main", "STOPPING"],
        ["review/topic", "STOPPING"],
      ]),
    );
  });

  it("of a deleted branch are stopped beside one that fails, which is tried again", async () => {
    const { project, ci, environments } = await given(`
a: {script: x, environment: {name: one, on_stop: any}}
b: {script: x, environment: {name: two, on_stop: any}}
any: {script: x, when: manual, environment: one}
`);
    await ci.start();
    await ci.run();
    await ci.run();
    const states = async () => (await environments()).map(({ state }) => state);
    await eventually(async () => expect(await states()).to.have.length(2));
    const { store } = app.platform;
    let appends = 0;
    const append: typeof store.append = (...order) => {
      appends += 1;
      return appends === 1 ? Promise.reject(new Error("away")) : store.append(...order);
    };
    type Deps = Parameters<typeof environmentStopWorker.runJob>[1];
    const deps = { ...app.deps, store: { ...store, append } } as unknown as Deps;
    const order = { projectId: project.id, branch: "main", causeId: "deletion", position: "0" };
    const { signal } = new AbortController();
    const ran = environmentStopWorker.runJob(order, deps, signal);
    await expect(ran).to.be.rejectedWith("away");
    expect(await states()).to.have.members(["AVAILABLE", "STOPPED"]);
  });

  it("are stopped at once where the job that is named does not stop them", async () => {
    const { ci, first, stops, settled } = await given(`
deploy a: {script: x, environment: {name: a, on_stop: any}}
deploy b: {script: x, environment: {name: b, on_stop: stop c}}
any: {script: x, when: manual, environment: a}
stop c: {script: x, when: manual, environment: {name: c, action: stop}}
`);
    await ci.start();
    await ci.run();
    await ci.run();
    for (const name of ["a", "b"]) await stops((await first(`?q=${name}`))["id"], "STOPPED");
    const deployed = { "deploy a": "SUCCESS", "deploy b": "SUCCESS" };
    await settled(1, { ...deployed, any: "MANUAL", "stop c": "MANUAL" });
  });

  it("are stopped when their time is over, also where the job that stops them cannot start", async () => {
    const { ci, first, stop, settled } = await given(`
stages: [one, two, three]
deploy: {stage: one, script: x, environment: {name: a, on_stop: undeploy, auto_stop_in: 1 day}}
gate: {stage: two, script: x}
undeploy: {stage: three, script: x, when: manual, environment: {name: a, action: stop}}
`);
    await ci.start();
    await ci.run();
    const jobs = { deploy: "SUCCESS", gate: "PENDING", undeploy: "CREATED" };
    await settled(1, jobs);
    const { id } = await first();
    const answer = await stop(id);
    expect([answer.status, answer.body["code"]]).to.deep.equal([
      422,
      "environment.stop_job_not_ready",
    ]);
    await sweepTomorrow();
    expect(await first()).to.include({ state: "STOPPED", autoStopAt: null });
    await settled(1, jobs);
  });

  it("are stopped without a job when who deployed is no member any more", async () => {
    const { ci, first, settled } = await given(review);
    const base = `${ci.base}/cicd/pipeline/start`;
    expect((await app.post(base, { token: bob.token, body: {} })).status).to.equal(200);
    await ci.run();
    const gone = await app.delete(`${ci.base}/member/${bob.alias}`, { token });
    expect(gone.status, gone.text).to.equal(200);
    await sweepTomorrow();
    expect(await first()).to.include({ state: "STOPPED" });
    await settled(1, { deploy: "SUCCESS", undeploy: "MANUAL" });
  });

  it("have the name that was recorded when the job was queued, and a job without one fails", async () => {
    const { project, ci, environments, settled } = await given(`
ship: {script: x, environment: $NOWHERE}
by hand: {script: x, when: manual, environment: production}
`);
    await ci.start();
    await settled(1, { ship: "FAILED", "by hand": "MANUAL" });
    expect(await environments()).to.deep.equal([]);
    const rows = await eventually(async () =>
      Promise.all(
        (await ci.jobs(1)).map(async ({ localId }) => {
          const row = await findJob(app.deps.db, project.id, Number(localId));
          if (row === undefined) throw new Error("the job has no number yet");
          return row;
        }),
      ),
    );
    const failed = rows.find(({ name }) => name === "ship");
    expect(failed?.failure_reason).to.equal("unmet_prerequisites");
    const waiting = rows.find(({ name }) => name === "by hand")!;
    // Not queued yet: no rule was checked against the name.
    const payload = await jobPayload(app.deps, waiting, "job token");
    expect(payload?.environment).to.equal(null);
    expect(payload?.variables.map(({ key }) => key)).not.to.include("CI_ENVIRONMENT_NAME");
  });

  it("show no values that were given at the start, unless their name does", async () => {
    const { ci, environments } = await given(`
variables: {SITE: site}
a: {script: x, environment: {name: a, url: "https://$SECRET.example.com"}}
b: {script: x, environment: {name: b, url: "https://$SITE.example.com"}}
c: {script: x, environment: {name: c/$PLACE, url: "https://$PLACE.example.com"}}
d: {script: x, environment: {name: d, url: "https://d.example.com/$NONE"}}
`);
    const values = { SECRET: "hush-hush", SITE: "hidden", PLACE: "berlin" };
    const variables = Object.entries(values).map(([key, value]) => ({ key, value }));
    await ci.start({ variables });
    const shown = await eventually(async () => {
      const all = (await environments()).map(({ name, url }) => [name, url]);
      expect(all).to.have.length(4);
      return all;
    });
    expect(shown).to.deep.equal([
      ["a", null],
      ["b", null],
      ["c/berlin", "https://berlin.example.com"],
      ["d", "https://d.example.com/"],
    ]);
  });
});
