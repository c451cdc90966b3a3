import { expect } from "chai";

import { compile, problems } from "../support/agent/pipeline-file.ts";

describe("needs of a job with a matrix", () => {
  const file = (need: string, matrix = "[{OS: [a, b], ARCH: [x, y]}]") => `
build: {stage: build, script: x, parallel: {matrix: [{OS: [a, b], ARCH: [x, y]}]}}
test: {script: x, parallel: {matrix: ${matrix}}, needs: [${need}]}
`;
  const needsOf = async (...args: Parameters<typeof file>) => {
    const { jobs } = await compile(file(...args));
    return jobs.slice(4).map(({ needs }) => needs?.map(({ job }) => job));
  };

  it("name the values of its own", async () => {
    const both = "{OS: ['$[[ matrix.OS ]]'], ARCH: '$[[matrix.ARCH]]'}";
    expect(await needsOf(`{job: build, parallel: {matrix: [${both}]}}`)).to.deep.equal([
      ["build: [a, x]"],
      ["build: [a, y]"],
      ["build: [b, x]"],
      ["build: [b, y]"],
    ]);
    const one = "{OS: '$[[ matrix.OF ]]', ARCH: [x, y]}";
    const other = await needsOf(`{job: build, parallel: {matrix: [${one}]}}`, "[{OF: [b]}]");
    expect(other).to.deep.equal([["build: [b, x]", "build: [b, y]"]]);
    const named = await needsOf("'build: [$[[ matrix.OS ]], x]'", "[{OS: [a]}]");
    expect(named).to.deep.equal([["build: [a, x]"]]);
  });

  it("are refused once for a name that its own has not", async () => {
    for (const name of ["GONE", "constructor"]) {
      const wrong = file(`{job: build, parallel: {matrix: [{OS: '$[[ matrix.${name} ]]'}]}}`);
      expect(await problems(wrong)).to.deep.equal([
        `3:69 test.needs: The matrix of the job has no ${name}.`,
        "3:69 test.needs: The job build is not part of this pipeline: its rules left it out.",
      ]);
    }
  });

  it("do not make the combinations that they name", async () => {
    const list = `[${Array.from({ length: 200 }, (_, n) => n).join(",")}]`;
    const keys = ["A", "B", "C", "D", "E", "F"].map((key) => `${key}: ${list}`).join(", ");
    const started = process.cpuUsage();
    const wrong = await problems(file(`{job: build, parallel: {matrix: [{${keys}}]}}`));
    expect(wrong.join()).to.contain(
      "The job build is not part of this pipeline: its rules left it out.",
    );
    expect(process.cpuUsage(started).user / 1_000).to.be.below(2_000);
  });
});
