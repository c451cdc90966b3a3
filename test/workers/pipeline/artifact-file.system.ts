import { randomBytes } from "node:crypto";
import { expect } from "chai";

import { givenAgent } from "../../support/agent/agent.ts";
import { agentTalk, uploadFile } from "../../support/agent/agent-job.ts";
import { pipelinesOf } from "../../support/agent/pipeline-app.ts";
import { startTestApp } from "../../support/app/app.ts";
import { eventually as within } from "../../support/app/eventually.ts";
import { zip } from "../../support/git/archive.ts";

const app = await startTestApp({ workers: true });
const anna = await app.givenUser("anna");
/** Several workers have their turns one after another. */
const eventually = <Value>(condition: () => Value | Promise<Value>) => within(condition, 90_000);

const file = `
generate: {stage: build, script: x, artifacts: {paths: [child.yml]}}
child: {stage: test, trigger: {include: [{artifact: child.yml, job: generate}]}}
`;

/** A pipeline in a project of its own, whose first job has ended with this archive. */
async function generated(name: string, archive: Buffer) {
  const ci = pipelinesOf(app, anna, await app.givenProject(anna, name));
  const agent = await givenAgent(app, { base: `${ci.base}/runners`, token: anna.token });
  const { put, begin } = agentTalk(app, agent.token);
  await ci.commit({ ".forge-ci.yaml": file, "more.yml": "two: {script: x}" }, "Add [skip ci]");
  const { localId } = await ci.start();
  const job = await eventually(begin);
  const query = "artifact_type=archive&artifact_format=zip";
  const stored = await uploadFile(app, job, { query, name: "artifacts.zip", content: archive });
  expect(stored.status, await stored.text()).to.equal(201);
  await put(job, { state: "success" });
  return { ci, localId };
}

const link = zip([["child.yml", "/etc/passwd"]], { mode: 0o120777 });
const reasons: readonly (readonly [string, Buffer, string])[] = [
  [
    "the file is missing",
    zip([["other.yml", "one: {script: x}"]]),
    "There is no file child.yml among the artifacts of the job generate.",
  ],
  [
    "the file is too large",
    zip([["child.yml", "x".repeat(600_000)]]),
    "The file child.yml among the artifacts of the job generate has over 524288 bytes.",
  ],
  ["the file is empty", zip([["child.yml", ""]]), "The rules of the file leave no job."],
  [
    "the file refuses",
    zip([["child.yml", "workflow: {rules: [{when: never}]}\none: {script: x}"]]),
    "The workflow rules of the file let no pipeline start.",
  ],
  [
    "the file is a link",
    link,
    "The file child.yml among the artifacts of the job generate is a link.",
  ],
  [
    "the archive is broken",
    Buffer.from("no archive"),
    "The archive of artifacts of the job generate cannot be read:",
  ],
];

describe("a child pipeline whose file a job generates", () => {
  it("has the jobs of that file, and of those of the commit that it includes", async () => {
    const { ci, localId } = await generated(
      "whole",
      zip([["child.yml", "include: more.yml\none: {script: x}"]]),
    );
    await eventually(async () =>
      expect(await ci.statuses(localId)).to.deep.equal({ generate: "SUCCESS", child: "SUCCESS" }),
    );
    const [child] = await ci.pipelines("?status=PENDING");
    expect(child).to.include({ source: "PARENT_PIPELINE" });
    expect(Object.keys(await ci.statuses(child?.["localId"]))).to.have.members(["one", "two"]);
  });

  it("is found in an archive of any size", async () => {
    const large = ["large.bin", randomBytes(20 * 1024 ** 2)] as const;
    const { ci, localId } = await generated(
      "large",
      zip([large, ["child.yml", "one: {script: x}"]]),
    );
    await eventually(async () =>
      expect(await ci.statuses(localId)).to.deep.equal({ generate: "SUCCESS", child: "SUCCESS" }),
    );
  });

  for (const [what, archive, reason] of reasons) {
    it(`fails with a reason, and the job that starts it, when ${what}`, async () => {
      const { ci, localId } = await generated(what.replaceAll(" ", "-"), archive);
      await eventually(async () =>
        expect(await ci.statuses(localId)).to.deep.equal({ generate: "SUCCESS", child: "FAILED" }),
      );
      const failed = (await ci.pipelines("?status=FAILED")).find(
        ({ source }) => source === "PARENT_PIPELINE",
      );
      expect(failed?.["failureReason"]).to.contain(reason);
    });
  }
});
