import { expect } from "chai";

import { findJob } from "../../../src/projections/pipeline/query.ts";
import { environmentSlug } from "../../../src/workers/pipeline/environment-name.ts";
import { jobPayload } from "../../../src/workers/pipeline/payload.ts";
import {
  environmentStopWorker,
  sweepExpiredEnvironments,
} from "../../../src/workers/pipeline/stop-environment.ts";
import { pipelinesOf, type View } from "../../support/agent/pipeline-app.ts";
import { startTestApp } from "../../support/app/app.ts";
import { eventually } from "../../support/app/eventually.ts";

const app = await startTestApp({ workers: true });
const anna = await app.givenUser("anna");
const bob = await app.givenUser("bob");
const { token } = anna;
const file = ".forge-ci.yaml";

let projects = 0;
async function given(yaml: string) {
  projects += 1;
  const project = await app.givenProject(anna, `project${projects}`, { private: true });
  const ci = pipelinesOf(app, anna, project);
  const body = { userAlias: bob.alias, role: "DEVELOPER" };
  const joined = await app.post(`${ci.base}/member/invite`, { token, body });
  expect(joined.status, joined.text).to.equal(200);
  await ci.commit({ [file]: yaml }, "Add pipelines [skip ci]");
  const path = `${ci.base}/environment`;

  async function environments(query = ""): Promise<readonly View[]> {
    const { body: page, text } = await app.get(`${path}${query}`, { token });
    const list = (page["_embedded"] as { environmentList?: View[] } | undefined)?.environmentList;
    expect(list, text).to.be.an("array");
    return list ?? [];
  }

  async function deployments(id: unknown, query = ""): Promise<readonly View[]> {
    const { body: page } = await app.get(`${path}/${id}/deployment${query}`, { token });
    return (page["_embedded"] as { deploymentList: View[] }).deploymentList;
  }

  async function protect(environmentTemplate: string, allowToDeploy: string) {
    const rule = { environmentTemplate, allowToDeploy };
    const made = await app.post(`${ci.base}/environment-protection/create`, { token, body: rule });
    expect(made.status, made.text).to.equal(200);
  }

  const stop = (id: unknown, by = anna, options = {}) =>
    app.post(`${path}/${id}/stop`, { token: by.token, body: options });

  /** The answer may come before all read models show what others did at the same time. */
  async function stops(id: unknown, state: string) {
    const answer = await stop(id);
    expect(answer.status, answer.text).to.equal(200);
    await eventually(async () =>
      expect((await app.get(`${path}/${id}`, { token })).body["state"]).to.equal(state),
    );
  }

  /** The first environment, once there is one. */
  const first = (query = "") =>
    eventually(async () => {
      const [found] = await environments(query);
      expect(found).to.be.an("object");
      return found!;
    });

  /** Once jobs are queued and their ends are worked on. */
  const settled = (localId: unknown, expected: Readonly<Record<string, string>>) =>
    eventually(async () => expect(await ci.statuses(localId)).to.deep.equal(expected));

  return { project, ci, path, environments, first, deployments, protect, stop, stops, settled };
}

/** The app has all that a sweep of environments works with. */
async function sweepTomorrow() {
  const tomorrow = new Date(Date.now() + 25 * 3_600_000);
  type Deps = Parameters<typeof sweepExpiredEnvironments>[0];
  await sweepExpiredEnvironments({ ...app.deps, now: () => tomorrow } as unknown as Deps);
}

const review = `
deploy:
  script: x
  environment:
    name: review/$CI_COMMIT_REF_NAME
    url: https://$CI_ENVIRONMENT_SLUG.example.com
    on_stop: undeploy
    deployment_tier: development
    auto_stop_in: 1 day
undeploy:
  script: x
  rules: [{when: manual, allow_failure: true}]
  environment: {name: review/$CI_COMMIT_REF_NAME, action: stop}
`;

describe("environments", () => {
  it("show what was deployed, and are stopped by the job that the file names", async () => {
    const { ci, environments, first, deployments, stops, path } = await given(review);
    await ci.start();
    const made = await first();
    expect(made).to.include({ name: "review/main", state: "AVAILABLE", lastDeployment: null });
    expect((await deployments(made["id"])).map(({ status }) => status)).to.deep.equal(["PENDING"]);

    expect(await ci.run()).to.equal("deploy");
    const [environment] = await environments("?state=AVAILABLE&q=VIEW/m");
    expect(environment).to.deep.include({
      slug: environmentSlug("review/main"),
      tier: "development",
      url: `https://${environmentSlug("review/main")}.example.com`,
    });
    expect(environment!["autoStopAt"]).to.be.a("string");
    const last = environment!["lastDeployment"] as View;
    expect(last).to.deep.include({
      number: 1,
      status: "SUCCESS",
      ref: "main",
      isTag: false,
      userId: anna.id,
      jobName: "deploy",
      pipelineLocalId: 1,
    });
    expect((await app.delete(`${path}/${made["id"]}`, { token })).body["code"]).to.equal(
      "environment.not_stopped",
    );

    await stops(made["id"], "STOPPING");
    expect(await ci.run()).to.equal("undeploy");
    expect((await environments())[0]).to.include({ state: "STOPPED", autoStopAt: null });
    expect((await app.delete(`${path}/${made["id"]}`, { token })).status).to.equal(200);
    expect(await environments()).to.deep.equal([]);
  });

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

  it("are not deleted while a job for them is queued or runs", async () => {
    const { ci, path, first, stops, environments } = await given(review);
    await ci.start();
    await ci.run();
    const { id } = await first();
    expect((await ci.pipelines()).length).to.equal(1);
    await stops(id, "STOPPING");
    await ci.run();
    await eventually(async () => expect(await first()).to.include({ state: "STOPPED" }));
    await ci.start();
    const refused = await app.delete(`${path}/${id}`, { token });
    expect([refused.status, refused.body["code"]]).to.deep.equal([409, "environment.in_use"]);
    await ci.run();
    expect((await environments())[0]).to.include({ state: "AVAILABLE" });
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

  it("are those of the project alone", async () => {
    const [one, other] = [await given(review), await given(review)];
    await one.ci.start();
    const { id } = await one.first();
    for (const path of [`${other.path}/${id}`, `${other.path}/${id}/deployment`]) {
      expect((await app.get(path, { token })).status).to.equal(404);
    }
    expect((await other.stop(id)).status).to.equal(404);
    expect((await app.delete(`${other.path}/${id}`, { token })).status).to.equal(404);
  });
});

const production = `
ship: {script: x, environment: production}
below: {script: x, environment: prod/x}
check: {script: x, environment: {name: prod$SUFFIX, action: access}}
other: {script: x}
by hand: {script: x, when: manual, allow_failure: true, environment: production}
`;

describe("a protected environment", () => {
  it("refuses jobs of those who may not deploy there, and lets others run them", async () => {
    const { ci, environments, first, protect, settled } = await given(production);
    await protect("prod*", "ADMINS");
    const base = `${ci.base}/cicd`;
    const body = { variables: [{ key: "SUFFIX", value: "uction" }] };
    const started = await app.post(`${base}/pipeline/start`, { token: bob.token, body });
    expect(started.status, started.text).to.equal(200);
    // The rule fits a name with a slash as well, as the scope of a variable does.
    const failed = { ship: "FAILED", below: "FAILED", check: "FAILED" };
    const refused = { ...failed, other: "PENDING", "by hand": "MANUAL" };
    await settled(1, refused);
    expect(await environments()).to.deep.equal([]);
    const ids = new Map((await ci.jobs(1)).map(({ name, localId }) => [name, localId]));

    const ask = (who: typeof bob, job: string, verb: string) =>
      app.post(`${base}/job/${ids.get(job)}/${verb}`, { token: who.token, body: {} });
    for (const [job, verb] of [
      ["ship", "restart"],
      ["by hand", "play"],
    ] as const) {
      const answer = await ask(bob, job, verb);
      expect([answer.status, answer.body["code"]]).to.deep.equal([403, "environment.protected"]);
    }
    await ci.run();
    await settled(1, { ...refused, other: "SUCCESS" });
    const again = await app.post(`${base}/pipeline/1/restart`, { token: bob.token });
    expect(again.status, again.text).to.equal(200);
    await settled(1, { ...refused, other: "SUCCESS" });

    expect((await ask(anna, "ship", "restart")).body["status"]).to.equal("PENDING");
    expect((await ask(anna, "by hand", "play")).body["status"]).to.equal("PENDING");
    expect(await first()).to.include({ name: "production" });
  });

  it("is stopped only by those who may deploy there", async () => {
    const { ci, first, protect, stop, path } = await given(production);
    await ci.start();
    await ci.run();
    await protect("production", "NO_ONE");
    const { id } = await first("?q=production");
    for (const who of [anna, bob]) {
      expect((await stop(id, who)).body["code"]).to.equal("environment.protected");
    }
    const gone = await app.delete(`${path}/${id}`, { token });
    expect(gone.body["code"]).to.equal("environment.protected");
  });
});
