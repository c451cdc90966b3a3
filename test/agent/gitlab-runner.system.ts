import { expect } from "chai";

import { logLine } from "../../src/platform/job-log/line.ts";
import { startGitlabRunner } from "../support/agent/gitlab-runner.ts";
import { pipelinesOf, type View } from "../support/agent/pipeline-app.ts";
import { startTestApp } from "../support/app/app.ts";
import { eventually as within } from "../support/app/eventually.ts";
import { needsProgram } from "../support/process/program.ts";

needsProgram("gitlab-runner", "bash");
const app = await startTestApp({ workers: true });
const anna = await app.givenUser("anna");
const search = await app.givenProject(anna, "search");
const at = pipelinesOf(app, anna, search);
const { token } = anna;
let runner: Awaited<ReturnType<typeof startGitlabRunner>>;

const file = `
stages: [build, test]
.usual: {rules: [{if: $ONLY == null}]}
build:
  extends: .usual
  stage: build
  script:
    - mkdir -p out kept
    - echo "built in $CI_JOB_NAME" > out/a.txt
    - echo once > kept/a
    - printf 'VERSION=1.2\\n' > build.env
    - echo "$CI_JOB_TOKEN"
  after_script: ['echo after it: $CI_JOB_STATUS']
  cache: {key: k, paths: [kept]}
  artifacts: {paths: [out], reports: {dotenv: build.env}}
test:
  extends: .usual
  stage: test
  script: [cat out/a.txt kept/a, 'echo version $VERSION']
  cache: {key: k, paths: [kept], policy: pull}
fails: {extends: .usual, stage: test, script: [exit 3], allow_failure: true}
slow:
  stage: test
  script: [echo begun, sleep 300]
  after_script: ['echo after it: $CI_JOB_STATUS']
`;

/** A runner polls every three seconds, and starts several programs for each stage of a job. */
const eventually = <Value>(condition: () => Value | Promise<Value>) => within(condition, 180_000);

const jobOf = async (pipeline: View, name: string): Promise<View | undefined> =>
  (await at.jobs(pipeline["localId"])).find((job) => job["name"] === name);
const statusOf = async (pipeline: View, name: string) => (await jobOf(pipeline, name))?.["status"];
/** Without the times that newer runners write in front of lines. */
const logOf = async (pipeline: View, name: string): Promise<string> => {
  const { localId } = (await jobOf(pipeline, name)) ?? {};
  const { text } = await app.get(`${at.base}/cicd/job/${localId}/log`, { token });
  return text
    .split("\n")
    .map((line) => logLine(line).text)
    .join("\n");
};

describe("gitlab-runner with its shell executor", () => {
  before(async () => {
    await at.commit({ ".forge-ci.yaml": file }, "[skip ci] Add");
    runner = await startGitlabRunner(app, { base: `${at.base}/runners`, token });
  });

  it("runs a pipeline with cache, artifacts and a report, and ends a job that is canceled", async () => {
    const pipeline = await at.start();
    await eventually(async () => (await logOf(pipeline, "slow")).includes("\nbegun"));
    const slow = await jobOf(pipeline, "slow");
    await app.post(`${at.base}/cicd/job/${slow?.["localId"]}/cancel`, { token });
    await eventually(async () => (await statusOf(pipeline, "test")) === "SUCCESS");
    await eventually(async () => (await statusOf(pipeline, "fails")) === "WARNING");
    expect(await statusOf(pipeline, "slow")).to.equal("CANCELED");
    await eventually(async () => (await logOf(pipeline, "slow")).includes("after it: canceled"));
    const built = await logOf(pipeline, "build");
    expect(built).to.match(/^after it: success\r?$/m);
    expect(built)
      .to.contain("[MASKED]")
      .and.not.match(/lfjt_\w{8}/);
    const tested = await logOf(pipeline, "test");
    for (const line of ["built in build", "once", "version 1.2"]) {
      expect(tested).to.match(new RegExp(`^${line}\\r?$`, "m"));
    }
  });

  it("gives its job back when it is stopped, and unregisters", async () => {
    const pipeline = await at.start({ variables: [{ key: "ONLY", value: "slow" }] });
    await eventually(async () => (await logOf(pipeline, "slow")).includes("\nbegun"));
    await runner.stop();
    expect(await statusOf(pipeline, "slow")).to.equal("FAILED");
    await runner.run("unregister", "--name", "real");
    const { body } = await app.get(`${at.base}/runners`, { token });
    expect(body["page"]).to.include({ totalElements: 0 });
  });
});
