import { expect } from "chai";
import { failing } from "../../../support/agent/pipeline-app.ts";
import { eventually } from "../../../support/app/eventually.ts";
import { file, givenPipelinePushes, twoStages } from "../../../support/pipeline/pipeline-pushes.ts";

const { app, anna, givenPipelines, post } = await givenPipelinePushes();

const bob = await app.givenUser("bob");

describe("a push with a pipeline file", () => {
  it("starts a pipeline, whose jobs run stage by stage until it ends", async () => {
    const ci = await givenPipelines();
    const hash = await ci.commit({ [file]: twoStages });
    const [pipeline] = await eventually(async () => {
      const found = await ci.pipelines();
      expect(found.map(({ status }) => status)).to.deep.equal(["PENDING"]);
      return found;
    });
    expect(pipeline).to.deep.include({
      localId: 1,
      ref: "main",
      source: "PUSH",
      userId: anna.id,
      failureReason: null,
      beforeCommitId: null,
    });
    expect(String(pipeline!["commitId"])).to.contain(hash);
    expect(await ci.statuses(1)).to.deep.equal({
      compile: "PENDING",
      unit: "CREATED",
      lint: "CREATED",
    });
    expect((await ci.jobs(1)).map(({ localId }) => localId)).to.deep.equal([1, 2, 3]);

    expect(await ci.run()).to.equal("compile");
    const ran = [await ci.run(failing("lint")), await ci.run(failing("lint"))];
    expect(ran).to.have.members(["unit", "lint"]);
    await eventually(async () => {
      const ended = await ci.pipeline(1);
      expect(ended).to.deep.include({ status: "WARNING" });
      expect(ended["duration"]).to.be.a("number");
      return expect(ended["finishedAt"]).to.be.a("string");
    });
    expect(await ci.statuses(1)).to.deep.equal({
      compile: "SUCCESS",
      unit: "SUCCESS",
      lint: "WARNING",
    });
  });

  it("shows what has no effect in its file, the first 20", async () => {
    const ci = await givenPipelines();
    const jobs = Array.from(
      { length: 21 },
      (_, n) => `a${n}: {script: x, dast_configuration: {}}\n`,
    );
    await ci.commit({ [file]: jobs.join("") });
    await eventually(async () => {
      const [pipeline] = await ci.pipelines();
      const expected = jobs.map(
        (_, n) => `${file}:${n + 1}: a${n}.dast_configuration: It has no effect.`,
      );
      return expect(pipeline?.["warnings"]).to.deep.equal(expected.slice(0, 20));
    });
  });

  it("makes a failed pipeline of a file with mistakes", async () => {
    const ci = await givenPipelines();
    await ci.commit({ [file]: "build:\n  scrpt: make\n" });
    await eventually(async () => {
      const [failed] = await ci.pipelines();
      expect(failed).to.deep.include({ status: "FAILED" });
      return expect(failed?.["failureReason"]).to.contain(
        `${file}:2:3: build.scrpt: There is no such keyword`,
      );
    });
  });
});

describe("starting a pipeline", () => {
  const wanted = "a: {script: x, rules: [{if: $WANTED}]}";
  let ci: Awaited<ReturnType<typeof givenPipelines>>;
  before(async () => {
    ci = await givenPipelines(false);
    await ci.commit({ [file]: wanted }, "Add [skip ci]");
  });

  it("answers it with its UUID, for the default branch or the one that is named", async () => {
    const variables = [{ key: "WANTED", value: "1" }];
    const started = await ci.start({ variables });
    expect(started).to.deep.include({ source: "API", ref: "main", status: "PENDING" });
    expect(started["pipeline_uuid"]).to.equal(started["id"]);
    expect(await ci.start({ refName: "main", isTag: false, variables })).to.include({ localId: 2 });
  });

  for (const [what, body, status, code] of [
    ["no job is left", {}, 422, "pipeline.empty"],
    ["the branch is not there", { refName: "next", isTag: false }, 404, "branch.not_found"],
    ["the tag is not there", { refName: "main", isTag: true }, 404, "tag.not_found"],
    ["it is not said what the ref is", { refName: "main" }, 422, "request.invalid"],
    ["a variable has no name", { variables: [{ key: "a b", value: "" }] }, 422, "request.invalid"],
  ] as const) {
    it(`is refused when ${what}`, async () => {
      const answer = await app.post(`${ci.base}/cicd/pipeline/start`, { token: ci.token, body });
      expect([answer.status, answer.body["code"]]).to.deep.equal([status, code]);
    });
  }

  it("is refused without a file", async () => {
    const other = await givenPipelines();
    await other.commit({ "README.md": "x" });
    const { base, token } = other;
    const answer = await app.post(`${base}/cicd/pipeline/start`, { token, body: {} });
    expect([answer.status, answer.body["code"]]).to.deep.equal([422, "pipeline.no_file"]);
  });

  it("is refused with jobs of .pre and .post alone", async () => {
    const other = await givenPipelines();
    await other.commit({ [file]: "a: {stage: .pre, script: x}" }, "Add [skip ci]");
    const { base, token } = other;
    const answer = await app.post(`${base}/cicd/pipeline/start`, { token, body: {} });
    expect([answer.status, answer.body["code"]]).to.deep.equal([422, "pipeline.empty"]);
  });

  it("is for developers", async () => {
    const body = { variables: [{ key: "WANTED", value: "1" }] };
    const answer = await app.post(`${ci.base}/cicd/pipeline/start`, { token: bob.token, body });
    expect(answer.status).to.equal(403);
  });
});

describe("the rules of a file", () => {
  const yaml = `
stage: {script: x, rules: [{if: '$CI_JOB_STAGE == "test"'}]}
name: {script: x, rules: [{if: '$CI_JOB_NAME == "name"'}]}
env: {script: x, environment: "prod/$OF", rules: [{if: '$CI_ENVIRONMENT_NAME == "prod/eu"'}]}
mat:
  script: x
  parallel: {matrix: [{M: [a, b, c]}]}
  rules: [{if: '$M == "a"', when: manual}, {if: '$M == "b"'}]
node: {script: x, parallel: 2, rules: [{if: '$CI_NODE_TOTAL == "2"'}]}
only: {script: x, only: {variables: ['$CI_JOB_NAME == "only"']}}
skipped: {script: x, rules: [{if: '$CI_JOB_STAGE == "test"', when: never}, {when: on_success}]}
`;

  it("are judged by what is known of each job", async () => {
    const ci = await givenPipelines();
    await ci.commit({ [file]: yaml }, "Add [skip ci]");
    const { localId } = await ci.start({ variables: [{ key: "OF", value: "eu" }] });
    const names = (await ci.jobs(localId)).map(({ name }) => name);
    expect(names).to.have.members([
      ...["stage", "name", "env", "mat: [a]", "mat: [b]", "node 1/2", "node 2/2", "only"],
    ]);
  });
});

describe("a pipeline", () => {
  it("is canceled with its jobs, once, and restarted", async () => {
    const ci = await givenPipelines();
    await ci.commit({ [file]: twoStages }, "Add pipelines [skip ci]");
    const { localId } = await ci.start();
    const at = `${ci.base}/cicd/pipeline/${localId}`;
    const canceled = await post(`${at}/cancel`, ci.token);
    expect([canceled.status, canceled.body["status"]]).to.deep.equal([200, "CANCELED"]);
    expect(Object.values(await ci.statuses(localId))).to.deep.equal(Array(3).fill("CANCELED"));
    expect((await post(`${at}/cancel`, ci.token)).body["code"]).to.equal("pipeline.finished");

    const restarted = await post(`${at}/restart`, ci.token);
    expect([restarted.status, restarted.body["status"]]).to.deep.equal([200, "PENDING"]);
    expect(await ci.statuses(localId)).to.include({ compile: "PENDING", unit: "CREATED" });
  });

  it("is deleted when it has ended", async () => {
    const ci = await givenPipelines();
    await ci.commit({ [file]: twoStages }, "Add [skip ci]");
    const { localId } = await ci.start();
    const at = `${ci.base}/cicd/pipeline/${localId}`;
    const running = await app.delete(`${at}/delete`, { token: ci.token });
    expect([running.status, running.body["code"]]).to.deep.equal([422, "pipeline.running"]);
    await post(`${at}/cancel`, ci.token);
    expect((await app.delete(`${at}/delete`, { token: ci.token })).status).to.equal(200);
    expect((await app.get(at, { token: ci.token })).status).to.equal(404);
    const list = await app.get(`${ci.base}/cicd/pipeline`, { token: ci.token });
    expect(list.body["page"]).to.include({ totalElements: 0 });
  });

  it("is not found in another project, and neither are its jobs", async () => {
    const [ci, other] = [await givenPipelines(), await givenPipelines()];
    await ci.commit({ [file]: twoStages }, "Add [skip ci]");
    await ci.start();
    for (const at of ["pipeline/1", "pipeline/1/jobs", "job/1", "job/x", "pipeline/99999999999"]) {
      expect(
        (await app.get(`${other.base}/cicd/${at}`, { token: anna.token })).status,
        at,
      ).to.equal(404);
    }
  });
});

describe("checking a pipeline file", () => {
  let ci: Awaited<ReturnType<typeof givenPipelines>>;
  before(async () => {
    ci = await givenPipelines();
    await ci.commit({ "part.yml": "b: {script: y, needs: [a]}" });
  });

  it("warns of what releases do not have, and where it is written", async () => {
    const content = `a:
  script: x
  rules: [{if: '$GITLAB_USER_LOGIN == "anna"'}]
  release:
    tag_name: v1
    description: d
    milestones: [m1]
    released_at: '2021-03-15T08:00:00Z'
`;
    const { body } = await app.post(`${ci.base}/cicd/lint`, { token: ci.token, body: { content } });
    expect(body["valid"]).to.equal(true);
    expect(body["jobs"]).to.have.length(1);
    expect(body["warnings"]).to.deep.equal([
      ".forge-ci.yaml:7: a.release.milestones: It has no effect.",
      ".forge-ci.yaml:8: a.release.released_at: It has no effect.",
    ]);
  });

  it("answers the jobs as they would be, or what is wrong", async () => {
    const lint = async (content: string) =>
      (await app.post(`${ci.base}/cicd/lint`, { token: ci.token, body: { content } })).body;
    expect(
      await lint("include: part.yml\na: {script: x, tags: [t], variables: {K: v}}"),
    ).to.deep.equal({
      valid: true,
      errors: [],
      warnings: [],
      jobs: [
        {
          name: "b",
          stage: "test",
          when: "on_success",
          allowFailure: false,
          needs: ["a"],
          tags: [],
          variables: {},
          environment: null,
        },
        {
          name: "a",
          stage: "test",
          when: "on_success",
          allowFailure: false,
          needs: null,
          tags: ["t"],
          variables: { K: "v" },
          environment: null,
        },
      ],
    });
    const wrong = await lint("a:\n  skript: x");
    expect(wrong["valid"]).to.equal(false);
    expect(wrong["errors"]).to.deep.include({
      file,
      line: 2,
      column: 3,
      key: "a.skript",
      message: "There is no such keyword here.",
    });
  });

  it("knows who checks a file as it knows who starts a pipeline", async () => {
    const rules = `[{if: '$GITLAB_USER_LOGIN == "anna"'}]`;
    const body = { content: `a: {script: x, rules: ${rules}}` };
    const linted = await app.post(`${ci.base}/cicd/lint`, { token: ci.token, body });
    expect(linted.body["jobs"]).to.have.length(1);
  });
});
