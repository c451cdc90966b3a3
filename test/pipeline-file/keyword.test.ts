import { expect } from "chai";

import { compile, problems } from "../support/agent/pipeline-file.ts";

describe("the policy of a cache", () => {
  const file = `
job:
  script: x
  cache: {key: gems, paths: [vendor], policy: $POLICY}
  rules:
    - {if: '$CI_COMMIT_BRANCH == "main"', variables: {POLICY: push}}
    - {if: $CI_COMMIT_BRANCH, variables: {POLICY: $NAMED, NAMED: pull}}
    - {if: $WRONG, variables: {POLICY: "to-$WRONG"}}
    - {when: on_success}
`;
  const policy = async (predefined: Record<string, string>, outer: Record<string, string> = {}) => {
    const { jobs } = await compile(file, { predefined, outer });
    return jobs[0]?.cache[0]?.policy;
  };

  it("may name variables of the job, of its rule, and outer ones", async () => {
    expect(await policy({ CI_COMMIT_BRANCH: "main" })).to.equal("push");
    expect(await policy({ CI_COMMIT_BRANCH: "next" })).to.equal("pull");
    expect(await policy({ CI_COMMIT_BRANCH: "main" }, { POLICY: "pull" })).to.equal("pull");
    expect(await policy({})).to.equal("pull-push");
  });

  it("is refused where it becomes none, without the value", async () => {
    expect(await problems(file, { outer: { WRONG: "secret" } })).to.deep.equal([
      "4:39 job.cache.policy: It must be pull-push, pull or push.",
    ]);
  });

  it("may differ between jobs of a matrix", async () => {
    const { jobs } = await compile(`
job: {script: x, cache: {paths: [a], policy: $P}, parallel: {matrix: [{P: [pull, push]}]}}
`);
    expect(jobs.map(({ cache }) => cache[0]?.policy)).to.deep.equal(["pull", "push"]);
  });
});

describe("the tags of a job", () => {
  const tags = async (more: string, given?: Parameters<typeof compile>[1]) => {
    const { jobs } = await compile(
      `variables: {ARCH: arm, EMPTY: ""}\na: {script: x, ${more}}`,
      given,
    );
    return jobs.map((job) => job.tags);
  };

  it("may name variables of the file, the job, its matrix and its rule", async () => {
    const matrix = "parallel: {matrix: [{OS: [linux, mac]}]}, rules: [{variables: {SIZE: large}}]";
    expect(await tags(`tags: ["$OS-\${ARCH}", "%SIZE%", $CI_JOB_STAGE], ${matrix}`)).to.deep.equal([
      ["linux-arm", "large", "test"],
      ["mac-arm", "large", "test"],
    ]);
  });

  it("stay as they are written where they would be nothing, or show a secret", async () => {
    const given = { outer: { SECRET: "x" }, atStart: { GIVEN: "x" } };
    expect(await tags(`tags: [$NONE, $EMPTY, $SECRET, '\${GIVEN}', 100%]`, given)).to.deep.equal([
      ["$NONE", "$EMPTY", "$SECRET", `\${GIVEN}`, "100%"],
    ]);
  });
});

describe("the key of a cache", () => {
  it("may be of the last commits of files, which changed them", async () => {
    const { jobs } = await compile(
      "a: {script: x, cache: {key: {files_commits: [a.lock], prefix: p}, paths: [x]}}",
    );
    expect(jobs[0]?.cache[0]?.key).to.equal("p-hash of a.lock");
    const both = "a: {script: x, cache: {key: {files_commits: [a], files: [a]}}}";
    expect((await problems(both)).join()).to.contain("It must be text or {files: …, prefix: …}.");
  });
});

describe("a keyword without effect", () => {
  for (const [keyword, key] of [
    ["pages: {publish: public, expire_in: never}", "pages"],
    ["pages: true", "pages"],
    ["publish: public", "publish"],
    ["identity: google_cloud", "identity"],
    ["dast_configuration: {site_profile: p}", "dast_configuration"],
    ["image: {name: i, kubernetes: {user: '1'}}", "image.kubernetes"],
    ["services: [a, {name: i, kubernetes: {user: '1'}}]", "services.1.kubernetes"],
    ["services: {name: i, kubernetes: {user: '1'}}", "services.kubernetes"],
    ["environment: {name: i, kubernetes: {namespace: a}}", "environment.kubernetes"],
  ] as const) {
    it(`is warned of: ${keyword}`, async () => {
      const { jobs, warnings } = await compile(`a:\n  script: x\n  ${keyword}\n`);
      expect(jobs).to.have.length(1);
      expect(warnings).to.deep.equal([`.forge-ci.yaml:3: a.${key}: It has no effect.`]);
    });
  }

  it("is warned of once where it is for all jobs", async () => {
    const { jobs, warnings } = await compile(`
image: {name: i, kubernetes: {user: "1"}}
default: {identity: google_cloud}
a: {script: x}
b: {script: x}
`);
    expect(jobs.map(({ image }) => image)).to.deep.equal([{ name: "i" }, { name: "i" }]);
    expect(warnings).to.deep.equal([
      ".forge-ci.yaml:2: image.kubernetes: It has no effect.",
      ".forge-ci.yaml:3: default.identity: It has no effect.",
    ]);
  });
});
