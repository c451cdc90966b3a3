import { expect } from "chai";

import { PipelineCompiler } from "../../src/pipeline-file/compiler.ts";
import { compile, facts, problems } from "../support/agent/pipeline-file.ts";

const include = (entry: object) => JSON.stringify({ include: [entry] });
const made = "one: {script: [x]}";
const readArtifact = async (job: string, path: string) =>
  job === "generate" && path === "out/child.yml" ? { text: made } : { why: `No ${path}.` };

describe("a file of artifacts in a pipeline file", () => {
  for (const artifact of ["out/child.yml", "/out/child.yml", "./out/child.yml", "$DIR/child.yml"]) {
    it(`is included as ${artifact} where a trigger includes it`, async () => {
      const given = { readArtifact, outer: { DIR: "out" } };
      const { jobs } = await compile(include({ artifact, job: "generate" }), given);
      expect(jobs.map(({ name }) => name)).to.deep.equal(["one"]);
    });
  }

  it("is included in the process that compiles", async () => {
    const compiler = new PipelineCompiler();
    const text = include({ artifact: "out/child.yml", job: "generate" });
    const file = { text, fileName: "child: trigger", user: "anna", project: "search" };
    const { jobs } = await compiler.compile(file, facts({ readArtifact }));
    expect(jobs.map(({ name }) => name)).to.deep.equal(["one"]);
    const refused = compiler.compile(file, facts());
    await expect(refused).to.be.rejectedWith("by `trigger: include` alone");
  });

  it("is missing for the reason that is given", async () => {
    const text = include({ artifact: "gone.yml", job: "generate" });
    expect((await problems(text, { readArtifact })).join()).to.contain("No gone.yml.");
  });

  it("is included neither by the file of a project nor by a file of artifacts", async () => {
    const text = include({ artifact: "out/child.yml", job: "generate" });
    expect((await problems(text)).join()).to.contain("by `trigger: include` alone");
    const again = { readArtifact: async () => ({ text }) };
    expect((await problems(text, again)).join()).to.contain("by `trigger: include` alone");
  });

  it("comes from a job that ends before the one that includes it", async () => {
    const file = (more: string, stage = "build") => `
generate: {stage: ${stage}, script: [x], artifacts: {paths: [child.yml]}}
child: {stage: test, ${more}trigger: {include: [{artifact: child.yml, job: generate}]}}
`;
    const order = "must be of an earlier stage, or among its needs";
    expect(await problems(file(""))).to.deep.equal([]);
    expect(await problems(file("needs: [generate], ", "test"))).to.deep.equal([]);
    expect((await problems(file("", "test"))).join()).to.contain(order);
    expect((await problems(file("needs: [], "))).join()).to.contain(order);
    const unknown = file("").replace("job: generate", "job: nowhere");
    expect((await problems(unknown)).join()).to.contain("There is no job nowhere.");
  });
});
