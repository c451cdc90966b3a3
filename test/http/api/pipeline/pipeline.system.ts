import { expect } from "chai";
import { failing } from "../../../support/agent/pipeline-app.ts";
import { eventually } from "../../../support/app/eventually.ts";
import { file, givenPipelinePushes, twoStages } from "../../../support/pipeline/pipeline-pushes.ts";

const { app, givenPipelines, post } = await givenPipelinePushes();

describe("a push with a pipeline file", () => {
  it("numbers pipelines and jobs in each project", async () => {
    const ci = await givenPipelines();
    await ci.commit({ [file]: "a: {script: x}\nb: {script: x}" });
    await eventually(async () => expect(await ci.pipelines()).to.have.length(1));
    await eventually(async () => expect(await ci.jobs(1)).to.have.length(2));
    await ci.start();
    expect((await ci.pipelines()).map(({ localId }) => localId)).to.deep.equal([2, 1]);
    expect((await ci.jobs(2)).map(({ localId }) => localId)).to.deep.equal([3, 4]);
  });

  it("starts none for [skip ci] in the message, without a file, and when the rules leave no job", async () => {
    const ci = await givenPipelines();
    await ci.commit({ "README.md": "x" });
    await ci.commit({ [file]: twoStages }, "Add pipelines [skip ci]");
    await ci.commit({ [file]: "a: {script: x, rules: [{if: $NEVER}]}" });
    await ci.commit({ [file]: twoStages }, "Now");
    await eventually(async () => expect(await ci.pipelines()).to.have.length(1));
  });

  it("ends an older pipeline of the branch that has not begun", async () => {
    const ci = await givenPipelines();
    await ci.commit({ [file]: twoStages });
    await eventually(async () => expect(await ci.pipelines()).to.have.length(1));
    await ci.commit({ [file]: `${twoStages}\n# again` });
    await eventually(async () =>
      expect((await ci.pipelines()).map(({ status }) => status)).to.deep.equal([
        "PENDING",
        "CANCELED",
      ]),
    );
  });
});

describe("a pipeline", () => {
  it("keeps what succeeded when it is restarted, and runs again what comes after", async () => {
    const ci = await givenPipelines();
    await ci.commit({ [file]: `${twoStages}\nlast: {stage: .post, script: x}` }, "Add [skip ci]");
    const { localId } = await ci.start();
    await ci.run();
    await ci.run(failing("unit"));
    await ci.run(failing("unit"));
    await eventually(async () =>
      expect(await ci.pipeline(localId)).to.include({ status: "FAILED" }),
    );
    expect(await ci.statuses(localId)).to.include({ unit: "FAILED", last: "SKIPPED" });
    await post(`${ci.base}/cicd/pipeline/${localId}/restart`, ci.token);
    expect(await ci.statuses(localId)).to.deep.equal({
      compile: "SUCCESS",
      unit: "PENDING",
      lint: "SUCCESS",
      last: "CREATED",
    });
    await ci.run();
    await ci.run();
    await eventually(async () =>
      expect(await ci.pipeline(localId)).to.include({ status: "SUCCESS" }),
    );
  });

  it("is listed by branch, tag and status", async () => {
    const ci = await givenPipelines();
    await ci.commit({ [file]: twoStages }, "Add [skip ci]");
    await ci.start();
    for (const [query, count] of [
      ["?branch=main", 1],
      ["?branch=next", 0],
      ["?tag=main", 0],
      ["?status=PENDING", 1],
      ["?status=FAILED", 0],
    ] as const) {
      expect(await ci.pipelines(query), query).to.have.length(count);
    }
    const bad = await app.get(`${ci.base}/cicd/pipeline?status=ODD`, { token: ci.token });
    expect(bad.status).to.equal(422);
  });
});

describe("checking a pipeline file", () => {
  it("compares paths with a branch, tag or commit by any of its names", async () => {
    const ci = await givenPipelines();
    const hash = await ci.commit({ "one.txt": "1" }, "One [skip ci]");
    await ci.commit({ "two.txt": "2" }, "Two [skip ci]");
    const compared = async (to: string, path: string) => {
      const changes = `{paths: [${path}], compare_to: ${to}}`;
      const content = `variables: {BASE: main}\na: {script: x, rules: [{changes: ${changes}}]}`;
      const { body } = await app.post(`${ci.base}/cicd/lint`, {
        token: ci.token,
        body: { content },
      });
      const problems = body["errors"] as { message: string }[];
      return [(body["jobs"] as unknown[]).length, ...problems.map(({ message }) => message)];
    };
    for (const to of ["main", "refs/heads/main", "$BASE"]) {
      expect(await compared(to, "two.txt"), to).to.deep.equal([0]);
    }
    expect(await compared(hash, "two.txt")).to.deep.equal([1]);
    expect(await compared(hash, "one.txt")).to.deep.equal([0]);
    expect(await compared("gone", "two.txt")).to.deep.equal([
      0,
      "compare_to names no branch, tag or commit: gone.",
    ]);
  });
});
