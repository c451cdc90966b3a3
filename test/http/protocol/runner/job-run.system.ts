import { expect } from "chai";
import { givenAgent } from "../../../support/agent/agent.ts";
import { startAppWithAgent } from "../../../support/agent/agent-app.ts";
import { agentTalk, type TakenJob } from "../../../support/agent/agent-job.ts";
import { pipelinesOf } from "../../../support/agent/pipeline-app.ts";
import { eventually } from "../../../support/app/eventually.ts";

const { app, anna, token, at, take, put } = await startAppWithAgent();

before(() => at.commit({ ".forge-ci.yaml": "build:\n  script: [make]\n" }));

describe("a job that is run", () => {
  it("does not start once it was canceled", async () => {
    const { localId } = await at.start();
    const job = await take();
    const canceled = await app.post(`${at.base}/cicd/pipeline/${localId}/cancel`, { token });
    expect(canceled.status, canceled.text).to.equal(200);
    const head = await app.head();
    for (const times of [1, 2]) {
      const answer = await put(job, { state: "running" });
      expect([times, answer.status]).to.deep.equal([times, 403]);
      expect(answer.headers.get("job-status")).to.equal("canceled");
    }
    expect(await app.head()).to.equal(head);
    const [shown] = await at.jobs(localId);
    expect(shown).to.include({ status: "CANCELED" });
  });

  it("is started by its own token and number alone", async () => {
    await at.commit({ ".forge-ci.yaml": "one: {script: x}\ntwo: {script: x}" }, "Two [skip ci]");
    await at.start();
    const [one, two] = [await take(), await take()];
    const head = await app.head();
    expect((await put({ ...one, id: two.id }, { state: "running" })).status).to.equal(403);
    expect((await put(one, { state: "running" }, two.token)).status).to.equal(403);
    expect(await app.head()).to.equal(head);
    for (const job of [one, two]) {
      expect((await put(job, { state: "running" })).status).to.equal(200);
      expect((await put(job, { state: "success" })).status).to.equal(200);
    }
  });

  it("shows which agent runs it, with its tags", async () => {
    const of = pipelinesOf(app, anna, await app.givenProject(anna, "tagged"));
    const about = { description: "on the shelf", tag_list: "linux,big" };
    const own = await givenAgent(app, { base: `${of.base}/runners`, token }, about);
    await of.commit({ ".forge-ci.yaml": "one: {script: x, image: 'node:$V'}" });
    await of.start();
    const talk = agentTalk(app, own.token);
    const job = await talk.begin();
    const variables = job["variables"] as readonly { key: string; value: string }[];
    expect(Object.fromEntries(variables.map(({ key, value }) => [key, value]))).to.include({
      CI_RUNNER_ID: String(own.number),
      CI_RUNNER_DESCRIPTION: "on the shelf",
      CI_RUNNER_TAGS: '["big","linux"]',
      CI_JOB_IMAGE: "node:$V",
    });
    await talk.put(job, { state: "success" });
  });

  it("is given variables and protection as they are, also where a pipeline goes on", async () => {
    const of = pipelinesOf(app, anna, await app.givenProject(anna, "changing"));
    const own = await givenAgent(app, { base: `${of.base}/runners`, token });
    const talk = agentTalk(app, own.token);
    const jobs = ["one", "two", "three"].map((name) => `${name}: {script: x}`);
    await of.commit({ ".forge-ci.yaml": jobs.join("\n") });
    await of.start();
    const given = async (): Promise<readonly string[]> => {
      const job = await talk.begin();
      await talk.put(job, { state: "success" });
      const variables = job["variables"] as readonly { key: string; value: string }[];
      return variables.flatMap(({ key, value }) => (key.startsWith("NEW") ? [value] : []));
    };
    const post = async (path: string, body: object): Promise<void> => {
      const answer = await app.post(`${of.base}/${path}`, { token, body });
      expect(answer.status, answer.text).to.equal(200);
    };
    expect(await given()).to.deep.equal([]);
    await post("setting/cicd/variable", { key: "NEW", value: "x" });
    await post("setting/cicd/variable", { key: "NEW_TOO", value: "y", protected: true });
    expect(await given()).to.deep.equal(["x"]);
    const level = "DEVELOPER";
    const rule = { branchTemplate: "main", allowedToPush: level, allowedToMerge: level };
    await post("branch-protection/create", rule);
    expect(await given()).to.deep.equal(["x", "y"]);
    await post(`runners/${own.id}/edit`, { isActive: "false" });
    expect((await talk.poll()).status).to.equal(204);
  });
});

describe("a job with a variable that no key opens", () => {
  it("fails once it is given to an agent, and the next one is given", async () => {
    const of = pipelinesOf(app, anna, await app.givenProject(anna, "damaged"));
    const own = await givenAgent(app, { base: `${of.base}/runners`, token });
    const talk = agentTalk(app, own.token);
    const variable = { key: "NEW", value: "x", environmentScope: "production" };
    const path = `${of.base}/setting/cicd/variable`;
    const { status, body } = await app.post(path, { token, body: variable });
    expect(status).to.equal(200);
    const { db } = app.deps;
    const { id } = body;
    const { value } = await db("pipeline_variable").where({ id }).first("value");
    const altered = value.replace(/.{4}$/, "AAAA");
    await db("pipeline_variable").where({ id }).update({ value: altered });
    const start = async (file: string) => {
      await of.commit({ ".forge-ci.yaml": file });
      return (await of.start())["localId"];
    };
    const damaged = await start("one: {script: x, environment: production}\n");
    const polled = talk.poll();
    await eventually(async () => (await of.statuses(damaged))["one"] === "FAILED");
    const [one] = await of.jobs(damaged);
    expect(one?.["failureReason"]).to.equal("data_integrity_failure");
    expect(one?.["failureMessage"]).to.include("cannot be read");
    await start("two: {script: x}\n");
    const answer = await polled;
    expect(answer.status, answer.text).to.equal(201);
    expect(answer.body["job_info"]).to.include({ name: "two" });
    await talk.put(answer.body as TakenJob, { state: "success" });
  });
});
