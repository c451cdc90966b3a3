import { expect } from "chai";
import { environmentSlug } from "../../../../src/pipeline-file/environment-name.ts";
import { findJob } from "../../../../src/projections/pipeline/query.ts";
import type { JobRow } from "../../../../src/projections/pipeline/table.ts";
import { jobPayload } from "../../../../src/services/pipeline/payload.ts";
import { pipelinesOf } from "../../../support/agent/pipeline-app.ts";
import { startTestApp } from "../../../support/app/app.ts";
import { eventually } from "../../../support/app/eventually.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");
const bob = await app.givenUser("bob");
const root = await app.givenUser("root", { admin: true });
const { token } = anna;

let projects = 0;
async function given() {
  projects += 1;
  const project = await app.givenProject(anna, `variables${projects}`);
  const ci = pipelinesOf(app, anna, project);
  const at = `${ci.base}/setting/cicd/variable`;
  const create = (body: object) => app.post(at, { token, body });
  /** What the first job of a new pipeline gets, by key. */
  async function seen(body: unknown = {}, change: Partial<JobRow> = {}) {
    const { localId } = await ci.start(body);
    const row = await eventually(async () => {
      const [{ localId: job } = {}] = await ci.jobs(localId);
      const found = await findJob(app.deps.db, project.id, Number(job));
      // The name of the environment is known once the job is queued.
      expect(found?.environment_name === null).to.equal(found?.environment === null);
      return found;
    });
    return (await jobPayload(app.deps, { ...row!, ...change }, "job token"))!;
  }
  return { project, ci, at, create, seen };
}

describe("variables of a project", () => {
  it("are created, listed, changed and deleted by its administrators", async () => {
    const { at, create } = await given();
    const made = await create({ key: "TOKEN", value: "long enough", mask: true });
    expect([made.status, made.body]).to.deep.equal([
      200,
      {
        id: made.body["id"],
        key: "TOKEN",
        value: "long enough",
        environmentScope: null,
        mask: true,
        protected: false,
        description: null,
        type: "VARIABLE",
      },
    ]);
    const one = `${at}/${made.body["id"]}`;
    const changed = await app.put(one, { token, body: { environmentScope: "prod", type: "FILE" } });
    expect(changed.body).to.include({
      value: "long enough",
      environmentScope: "prod",
      type: "FILE",
    });
    const list = await app.get(at, { token });
    expect(list.body["_embedded"]).to.deep.equal({
      restPipelineJobVariableModelList: [changed.body],
    });
    expect((await app.delete(one, { token })).status).to.equal(200);
    expect((await app.get(one, { token })).status).to.equal(404);
    expect((await app.get(at, { token: bob.token })).status).to.equal(403);
  });

  for (const [what, body, code] of [
    [
      "a masked value that is short",
      { key: "A", value: "short", mask: true },
      "variable.not_maskable",
    ],
    [
      "a masked value of two lines",
      { key: "A", value: "long enough\nx", mask: true },
      "variable.not_maskable",
    ],
    ["a key with a dash", { key: "A-B", value: "x" }, "request.invalid"],
    ["a key that is taken", { key: "TAKEN", value: "x" }, "variable.exists"],
  ] as const) {
    it(`refuse ${what}`, async () => {
      const { create } = await given();
      await create({ key: "TAKEN", value: "x" });
      const answer = await create(body);
      expect([answer.status, answer.body["code"]]).to.deep.equal([422, code]);
    });
  }

  it("are not found in another project", async () => {
    const [one, other] = [await given(), await given()];
    const { body } = await one.create({ key: "A", value: "x" });
    for (const method of ["get", "delete"] as const) {
      expect((await app[method](`${other.at}/${body["id"]}`, { token })).status).to.equal(404);
    }
    expect((await app.put(`${other.at}/${body["id"]}`, { token, body: {} })).status).to.equal(404);
  });

  it("are set for all projects by administrators, and those of a project win over them", async () => {
    const { ci, at, create, seen } = await given();
    await ci.commit({ ".forge-ci.yaml": "a: {script: x}" }, "Add [skip ci]");
    const everywhere = "/admin/setting/cicd/variable";
    const set = (key: string, by = root.token) =>
      app.post(everywhere, { token: by, body: { key, value: "of all projects" } });
    expect((await set("SHARED", token)).status).to.equal(403);
    const [shared, both] = [await set("SHARED"), await set("BOTH")];
    expect([shared.status, both.status], shared.text).to.deep.equal([200, 200]);
    await create({ key: "BOTH", value: "of the project" });
    const { variables } = await seen();
    const value = Object.fromEntries(variables.map((each) => [each.key, each.value]));
    expect(value).to.include({ SHARED: "of all projects", BOTH: "of the project" });
    const one = `${everywhere}/${shared.body["id"]}`;
    expect((await app.get(`${at}/${shared.body["id"]}`, { token })).status).to.equal(404);
    expect((await app.delete(one, { token: root.token })).status).to.equal(200);
    const list = await app.get(everywhere, { token: root.token });
    expect(list.body["_embedded"]).to.deep.equal({ restPipelineJobVariableModelList: [both.body] });
  });

  it("are masked in what is wrong with a file, as are those that a pipeline is started with", async () => {
    const { ci, create } = await given();
    await create({ key: "SECRET", value: "secret-of-anna", mask: true });
    await create({ key: "OPEN", value: "open-to-all" });
    const reasonFor = async (file: string, variables: object[] = []) => {
      await ci.commit({ ".forge-ci.yaml": file }, "Change [skip ci]");
      const { localId } = await ci.start({ variables });
      return String((await ci.pipeline(localId))["failureReason"]);
    };
    const compare = "{changes: {paths: [a], compare_to: $OPEN-$SECRET-$GIVEN}}";
    const variables = [{ key: "GIVEN", value: "given-once" }];
    const compared = await reasonFor(`a: {script: x, rules: [${compare}]}`, variables);
    expect(compared).to.contain(": open-to-all-[MASKED]******-[MASKED]**.");
    const included = await reasonFor('include: {local: "$SECRET.yaml"}\na: {script: x}');
    expect(included).to.contain("There is no file [MASKED]******.yaml.");
    await create({ key: "AS_PATH", value: "/secret-of-bob", mask: true });
    const path = await reasonFor('include: {local: "$AS_PATH"}\na: {script: x}');
    expect(path).to.contain("There is no file [MASKED]*****.");
    await create({ key: "EXPANDED", value: "of-$OPEN$$secret", mask: true });
    const expanded = await reasonFor(
      `a: {script: x, rules: [${compare.replace("GIVEN", "EXPANDED")}]}`,
    );
    expect(expanded).to.contain(": open-to-all-[MASKED]******-[MASKED]*************.");
  });

  it("fail a pipeline where one cannot be read, until it is set anew", async () => {
    const { ci, at, create, seen } = await given();
    const { body: made } = await create({ key: "LOST", value: "x" });
    const rows = () => app.deps.db("pipeline_variable").where({ id: made["id"] });
    const { value } = await rows().first("value");
    await rows().update({ value: value.replace(/.{4}$/, "AAAA") });
    await ci.commit({ ".forge-ci.yaml": "a: {script: x}" }, "Add [skip ci]");
    const failed = await ci.start();
    expect(failed["status"]).to.equal("FAILED");
    expect(failed["failureReason"]).to.contain("cannot be read, because its key is lost");
    const one = `${at}/${made["id"]}`;
    expect((await app.get(one, { token })).body).to.include({ key: "LOST", value: null });
    expect((await app.put(one, { token, body: { value: "y" } })).status).to.equal(200);
    const { variables } = await seen();
    expect(variables.find(({ key }) => key === "LOST")?.value).to.equal("y");
  });

  it("stand in the log only sealed", async () => {
    const { create, project } = await given();
    await create({ key: "SECRET", value: "plain text of the secret" });
    for await (const event of app.deps.store.readStream(`pipelineVariable-${project.id}`)) {
      expect(JSON.stringify(event.data)).not.to.contain("plain text");
    }
  });
});

describe("what a job is given", () => {
  const file = ".forge-ci.yaml";
  const yaml = `
workflow: {name: "Of $CI_COMMIT_BRANCH"}
variables: {LEVEL: file, FILE_ONLY: "$LEVEL"}
a:
  script: [one, two]
  before_script: [zero]
  after_script: [last]
  variables: {LEVEL: job}
  environment: {name: review/$CI_COMMIT_REF_NAME}
`;

  it("is its steps, its commit and variables of all levels", async () => {
    const { ci, create, seen, project } = await given();
    const hash = await ci.commit({ [file]: yaml }, "Title $CI_JOB_TOKEN\n\nBody");
    await create({ key: "LEVEL", value: "project" });
    await create({ key: "SCOPED", value: "no", environmentScope: "prod" });
    await create({ key: "SCOPED", value: "yes", environmentScope: "review/*" });
    await create({ key: "HIDDEN", value: "hidden value", mask: true });
    const { variables, steps, git, masked, environment } = await seen({
      variables: [{ key: "GIVEN", value: "start" }],
    });
    const value = Object.fromEntries(variables.map((each) => [each.key, each.value]));
    expect(value).to.include({
      LEVEL: "project",
      SCOPED: "yes",
      GIVEN: "start",
      CI_COMMIT_TITLE: "Title $CI_JOB_TOKEN",
      CI_COMMIT_DESCRIPTION: "Body",
      CI_COMMIT_BRANCH: "main",
      CI_PROJECT_ID: project.id,
      CI_PROJECT_PATH: `anna/${project.alias}`,
      CI_PROJECT_ROOT_NAMESPACE: "anna",
      CI_PIPELINE_SOURCE: "api",
      GITLAB_USER_LOGIN: "anna",
      GITLAB_USER_NAME: "anna",
      CI_JOB_NAME: "a",
      CI_JOB_STAGE: "test",
      CI_JOB_TOKEN: "job token",
      CI_ENVIRONMENT_NAME: "review/main",
      CI_ENVIRONMENT_SLUG: environmentSlug("review/main"),
      CI_ENVIRONMENT_TIER: "development",
      CI_CONFIG_PATH: file,
      CI_PROJECT_NAMESPACE_ID: anna.id,
      CI_SERVER_FQDN: new URL(app.url).host,
    });
    expect(environment).to.equal("review/main");
    expect(masked).to.include.members(["hidden value", "job token"]);
    expect(steps).to.deep.equal([
      { name: "script", script: ["zero", "one", "two"], when: "on_success" },
      { name: "after_script", script: ["last"], when: "always" },
    ]);
    expect(git.sha).to.contain(hash);
    expect(git.refspecs).to.have.length(1);
    expect(git.refspecs[0]).to.match(/^\+[0-9a-f]{40}:refs\/pipelines\/\d+$/);
    for (const key of ["CI_PROJECT_DIR", "CI_BUILDS_DIR", "CI_JOB_STATUS", "CI_JOB_TIMEOUT"]) {
      expect(value).not.to.have.property(key);
    }
    const flags = (key: string) => variables.find((each) => each.key === key);
    expect(flags("CI_COMMIT_MESSAGE")).to.include({ raw: true, public: true });
    const name = { raw: false, value: "Of $CI_COMMIT_BRANCH" };
    expect(flags("CI_PIPELINE_NAME")).to.include(name);
    expect(flags("HIDDEN")).to.include({ masked: true, public: false });
    expect(flags("FILE_ONLY")).to.include({ raw: false, value: "$LEVEL" });
  });

  it("names the person for whom it acts, and when it was given", async () => {
    const { ci, seen } = await given();
    await ci.commit({ [file]: `a: {script: x, rules: [{if: '$GITLAB_USER_LOGIN == "anna"'}]}` });
    const values = async (change: Partial<JobRow> = {}) => {
      const { variables } = await seen({}, change);
      return Object.fromEntries(variables.map((each) => [each.key, each.value]));
    };
    expect(await values()).to.include({ GITLAB_USER_LOGIN: "anna", GITLAB_USER_ID: anna.id });
    const started_at = new Date("2026-01-02T03:04:05Z");
    expect(await values({ played_by_id: bob.id, started_at })).to.include({
      GITLAB_USER_LOGIN: "bob",
      CI_JOB_STARTED_AT: "2026-01-02T03:04:05.000Z",
    });
  });

  it("has protected variables on protected branches only", async () => {
    const { ci, create, seen } = await given();
    await ci.commit({ [file]: yaml });
    await create({ key: "GUARDED", value: "x", protected: true });
    const keys = async () => (await seen()).variables.map(({ key }) => key);
    expect(await keys()).not.to.include("GUARDED");
    const rule = {
      branchTemplate: "main",
      allowedToPush: "DEVELOPER",
      allowedToMerge: "DEVELOPER",
    };
    const made = await app.post(`${ci.base}/branch-protection/create`, { token, body: rule });
    expect(made.status, made.text).to.equal(200);
    expect(await keys()).to.include("GUARDED");
  });
});
