import { expect } from "chai";

import { compile } from "../support/agent/pipeline-file.ts";

describe("an include", () => {
  it("takes variables in all forms of the service", async () => {
    const files = { "ci/a b c.yml": "a: {script: x}" };
    const predefined = { A: "a", B: "b", C: "c" };
    const { jobs } = await compile(`include: 'ci/$A \${B} %C%.yml'`, { files, predefined });
    expect(jobs).to.have.length(1);
  });
});

describe("a glob of include", () => {
  const paths = ["ci/a.yml", "ci/b.yml", "ci/deep/c.yml", "ci/deep/er/d.yml", "other/e.yml"];
  const files = Object.fromEntries(
    paths.map((path) => [path, `${path.replace(/^.*\/(.)\.yml$/, "$1")}: {script: x}`]),
  );

  for (const [glob, expected] of [
    ["ci/*.yml", "ab"],
    ["ci/**.yml", "abcd"],
    ["ci/**/*.yml", "abcd"],
    ["ci/**/d.yml", "d"],
    ["**e**.yml", "cde"],
  ] as const) {
    it(`${glob} finds ${expected}`, async () => {
      const { jobs } = await compile(`include: "${glob}"`, { files });
      expect(jobs.map(({ name }) => name).join("")).to.equal(expected);
    });
  }

  it("goes deeper than one of rules, for which ** is a folder only", async () => {
    const rules = (glob: string) => `a: {script: x, rules: [{exists: ["${glob}"]}]}`;
    const isIn = async (glob: string) => (await compile(rules(glob), { files })).jobs.length > 0;
    expect([await isIn("ci/**d.yml"), await isIn("ci/**/d.yml")]).to.deep.equal([false, true]);
  });
});
