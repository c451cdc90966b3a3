import { expect } from "chai";
import { environmentSlug } from "../../../../src/pipeline-file/environment-name.ts";
import type { View } from "../../../support/agent/pipeline-app.ts";
import { eventually } from "../../../support/app/eventually.ts";
import { givenEnvironments, review } from "../../../support/pipeline/environments.ts";

const { app, anna, bob, token, given } = await givenEnvironments();

const production = `
ship: {script: x, environment: production}
below: {script: x, environment: prod/x}
check: {script: x, environment: {name: prod$SUFFIX, action: access}}
other: {script: x}
by hand: {script: x, when: manual, allow_failure: true, environment: production}
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

  it("have names and addresses with variables in all forms", async () => {
    const { ci, first } = await given(`
ship:
  script: x
  variables: {A: a}
  environment: {name: "of/%CI_COMMIT_REF_NAME%/\${A}", url: "https://of.test/%A%/%C3%A4/$CI_ENVIRONMENT_TIER"}
`);
    await ci.start();
    await ci.run();
    const url = "https://of.test/a/%C3%A4/other";
    expect(await first()).to.include({ name: "of/main/a", url });
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

    const send = (who: typeof bob, job: string, verb: string) =>
      app.post(`${base}/job/${ids.get(job)}/${verb}`, { token: who.token, body: {} });
    for (const [job, verb] of [
      ["ship", "restart"],
      ["by hand", "play"],
    ] as const) {
      const answer = await send(bob, job, verb);
      expect([answer.status, answer.body["code"]]).to.deep.equal([403, "environment.protected"]);
    }
    await ci.run();
    await settled(1, { ...refused, other: "SUCCESS" });
    const again = await app.post(`${base}/pipeline/1/restart`, { token: bob.token });
    expect(again.status, again.text).to.equal(200);
    await settled(1, { ...refused, other: "SUCCESS" });

    expect((await send(anna, "ship", "restart")).body["status"]).to.equal("PENDING");
    expect((await send(anna, "by hand", "play")).body["status"]).to.equal("PENDING");
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
