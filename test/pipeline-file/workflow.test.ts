import { expect } from "chai";

import { compile, problems } from "../support/agent/pipeline-file.ts";

describe("the workflow of a pipeline file", () => {
  it("may refuse the pipeline or add variables", async () => {
    const file = `
workflow:
  name: Nightly
  rules: [{if: $NEVER, when: never}, {if: $ADD, variables: {X: "1"}}, {when: always}]
job: {script: x}
`;
    expect(await compile(file, { outer: { NEVER: "1" } })).to.deep.include({
      refused: true,
      jobs: [],
    });
    const added = await compile(file, { outer: { ADD: "1" } });
    expect(added.jobs[0]?.variables).to.deep.equal([{ key: "X", value: "1", raw: false }]);
    expect(added.name).to.equal("Nightly");
  });

  it("lets a rule decide which jobs end by themselves", async () => {
    const file = `
workflow:
  auto_cancel: {on_new_commit: interruptible, on_job_failure: all}
  rules: [{if: $KEEP, auto_cancel: {on_job_failure: none}}, {when: always}]
job: {script: x}
`;
    const usual = { autoCancel: "interruptible", cancelOnFailure: true };
    expect(await compile(file)).to.include(usual);
    const kept = await compile(file, { outer: { KEEP: "1" } });
    expect(kept).to.include({ ...usual, cancelOnFailure: false });
    const without = await compile("job: {script: x}");
    expect(without).to.include({ autoCancel: "conservative", cancelOnFailure: false });
  });

  it("makes no pipeline of jobs of .pre and .post alone", async () => {
    const file = `
a: {stage: .pre, script: x}
b: {stage: .post, script: x}
c: {script: x, rules: [{if: $WANTED}]}
`;
    const { jobs, refused, warnings } = await compile(file);
    expect([jobs, refused]).to.deep.equal([[], false]);
    expect(warnings).to.deep.equal([
      ".forge-ci.yaml:2: a.stage: Jobs of .pre and .post alone make no pipeline.",
    ]);
    const wanted = await compile(file, { outer: { WANTED: "1" } });
    expect([wanted.jobs.length, wanted.warnings]).to.deep.equal([3, []]);
    expect(await compile("")).to.deep.include({ jobs: [], warnings: [] });
  });

  it("has a job that is visible, unless the file is empty", async () => {
    for (const file of [".a: {script: x}", "stages: [x]"]) {
      expect((await problems(file)).join()).to.contain("The file has no job that is visible");
    }
  });
});
