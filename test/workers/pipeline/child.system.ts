import { expect } from "chai";
import { expandVariables } from "../../../src/pipeline-file/expand.ts";
import { jobPayload } from "../../../src/services/pipeline/payload.ts";
import { pipelinesOf, type View } from "../../support/agent/pipeline-app.ts";
import { child, eventually, file, givenChildren, parent } from "../../support/pipeline/children.ts";

const { app, receiver, anna } = await givenChildren();

describe("a job that starts a pipeline", () => {
  it("names the pipeline that failed", async () => {
    const ci = pipelinesOf(app, anna, await app.givenProject(anna, "named"));
    await ci.commit({ [file]: parent, "child.yml": child }, "Add [skip ci]");
    const { localId } = await ci.start();
    expect(await ci.run("RecordJobFailed")).to.equal("inner");
    await eventually(async () => {
      const [job] = await ci.jobs(localId);
      const failureMessage = "Pipeline #2 is FAILED.";
      return expect(job).to.include({ status: "FAILED", failureMessage });
    });
  });

  it("is canceled with what it started in its project, not with what it started elsewhere", async () => {
    const other = pipelinesOf(app, anna, await app.givenProject(anna, "elsewhere"));
    await other.commit({ [file]: "theirs: {script: x}" }, "Add [skip ci]");
    const ci = pipelinesOf(app, anna, await app.givenProject(anna, "cancel"));
    const jobs = `
child: {trigger: {include: child.yml}}
other: {trigger: {project: anna/elsewhere}}
after: {stage: deploy, script: x}
`;
    await ci.commit({ [file]: jobs, "child.yml": "inner: {script: x}" }, "Add [skip ci]");
    const { localId } = await ci.start();
    const begun = { child: "SUCCESS", other: "SUCCESS", after: "PENDING" };
    await eventually(async () => expect(await ci.statuses(localId)).to.deep.equal(begun));
    const at = `${ci.base}/cicd/pipeline/${localId}/cancel`;
    expect((await app.post(at, { token: ci.token })).status).to.equal(200);
    const isChild = ({ source }: View) => source === "PARENT_PIPELINE";
    const child = await eventually(async () => {
      const found = (await ci.pipelines("?status=CANCELED")).find(isChild);
      expect(found).to.not.equal(undefined);
      return found;
    });
    expect(await ci.statuses(child?.["localId"])).to.deep.equal({ inner: "CANCELED" });
    expect((await other.pipelines()).map(({ status }) => status)).to.deep.equal(["PENDING"]);
  });
});

describe("variables of a job that starts a pipeline", () => {
  async function withSide({ base, token }: Readonly<{ base: string; token: string }>) {
    const body = { newBranch: "side", originBranch: "main" };
    expect((await app.post(`${base}/branch`, { token, body })).status).to.be.below(300);
  }

  /** What the given variables become in the pipeline that a job hands them to, in a project of its own. */
  async function handed(name: string, variables: Readonly<Record<string, unknown>>) {
    const there = pipelinesOf(app, anna, await app.givenProject(anna, `${name}-down`));
    await there.commit({ [file]: "x: {script: x}" }, "Add [skip ci]");
    await withSide(there);
    const ci = pipelinesOf(app, anna, await app.givenProject(anna, name));
    const at = `${ci.base}/setting/cicd/variable`;
    for (const body of [
      { key: "TARGET", value: `${name}-down` },
      { key: "SECRET", value: "of the upstream", masked: true },
    ]) {
      expect((await app.post(at, { token: ci.token, body })).status).to.be.below(300);
    }
    const trigger = { project: "$CI_PROJECT_NAMESPACE/$TARGET", branch: "$CI_COMMIT_REF_NAME" };
    const yaml = JSON.stringify({ a: { trigger, variables } });
    await ci.commit({ [file]: yaml }, "Cost $HOME [skip ci]");
    await withSide(ci);
    await ci.start({ refName: "side", isTag: false });
    const job = await eventually(() => there.claim());
    const [child] = await there.pipelines();
    const { variables: all } = (await jobPayload(app.deps, job!, "token"))!;
    const values = new Map(all.map(({ key, value }) => [key, value]));
    const expanded = expandVariables(values, new Set(["CI_COMMIT_MESSAGE"]));
    return { child, of: (key: string) => expanded.get(key) };
  }

  it("have the values that they have there, and name the project and the branch", async () => {
    const { child, of } = await handed("values", {
      FROM: "$CI_PROJECT_PATH of $CI_COMMIT_REF_NAME, $JOB",
      JOB: "job $CI_JOB_NAME",
      SAID: "$CI_COMMIT_MESSAGE",
      RAW: { value: "$CI_JOB_NAME", expand: false },
      PRICE: "$$5",
      LOOP: "a $LOOP",
    });
    expect(child).to.include({ source: "PARENT_PIPELINE", ref: "side" });
    expect(of("FROM")).to.equal("anna/values of side, job a");
    expect(of("SAID")).to.equal("Cost $HOME [skip ci]\n");
    expect(of("RAW")).to.equal("$CI_JOB_NAME");
    expect(of("PRICE")).to.equal("$5");
  });

  it("keep the references to settings, which another project has not", async () => {
    const { of } = await handed("secrets", { KEY: "key $SECRET", OTHER: "of $TARGET" });
    expect(of("KEY")).to.equal("key ");
    expect(of("OTHER")).to.equal("of ");
  });
});

describe("webhooks of pipelines", () => {
  it("are notified of a new one and of its end, with all fields", async () => {
    const ci = pipelinesOf(app, anna, await app.givenProject(anna, "hooked"));
    const events = {
      PIPELINE_NEW: true,
      PIPELINE_SUCCESS: true,
      PIPELINE_FAIL: true,
      PIPELINE_WARNING: true,
    };
    const body = { url: receiver.url, secret: "s", events };
    expect(
      (await app.post(`${ci.base}/setting/webhook`, { token: ci.token, body })).status,
    ).to.equal(200);
    const commitId = await ci.commit({ [file]: "a: {script: x}" }, "Add [skip ci]");
    await ci.start();
    await ci.run();
    await eventually(() => expect(receiver.received).to.have.length(2));
    const payloads = receiver.received.map((request) => JSON.parse(request.body));
    expect(payloads.map(({ action }) => action)).to.deep.equal([
      "PIPELINE_NEW",
      "PIPELINE_SUCCESS",
    ]);
    const { pipeline } = payloads[1];
    expect(pipeline).to.include({
      local_id: 1,
      ref: "main",
      status: "SUCCESS",
      source: "API",
      failure_reason: null,
    });
    expect(pipeline.url).to.equal(`${app.url}/project/anna/hooked/cicd/pipeline/1`);
    expect(pipeline.commit_id).to.contain(commitId);
    expect(pipeline.commit).to.include({ id: pipeline.commit_id });
    expect(pipeline.duration).to.be.a("number");
    expect(payloads[0].pipeline).to.include({ status: "CREATED", duration: null });
  });
});
