import { expect } from "chai";

import { compile, problems } from "../support/agent/pipeline-file.ts";

type Given = Parameters<typeof compile>[1];

async function whenByName(file: string, given?: Given): Promise<Record<string, string>> {
  const { jobs } = await compile(file, given);
  return Object.fromEntries(jobs.map(({ name, when }) => [name, when]));
}

describe("a condition of a job", () => {
  const isIn = async (condition: string, job = "", given?: Given) => {
    const file = `stages: [deploy]\n"My Job": {stage: deploy, script: x, ${job} rules: [{if: '${condition}'}]}`;
    return (await compile(file, given)).jobs.length > 0;
  };
  const environment = `environment: {name: "live/$NAME", url: "https://$NAME", action: verify},`;
  const named = "variables: {NAME: eu, CI_JOB_STAGE: own},";

  for (const [condition, job] of [
    ['$CI_JOB_NAME == "My Job"', ""],
    ['$CI_JOB_NAME_SLUG == "my-job"', ""],
    ['$CI_JOB_STAGE == "deploy"', ""],
    ['$CI_JOB_STAGE == "own"', named],
    ['$CI_NODE_TOTAL == "1" && $CI_NODE_INDEX == null', ""],
    ['$CI_JOB_MANUAL == "true"', "when: manual,"],
    ["$CI_JOB_MANUAL == null && $CI_ENVIRONMENT_NAME == null", ""],
    ['$CI_ENVIRONMENT_NAME == "live/eu"', `${named} ${environment}`],
    ["$CI_ENVIRONMENT_SLUG =~ /^live-eu-/", `${named} ${environment}`],
    ['$CI_ENVIRONMENT_URL == "https://$NAME"', `${named} ${environment}`],
    ['$CI_ENVIRONMENT_ACTION == "verify"', `${named} ${environment}`],
    ['$CI_ENVIRONMENT_TIER == "production"', environment],
    ['$CI_ENVIRONMENT_TIER == "other"', "environment: {name: live, deployment_tier: other},"],
    ['$CI_ENVIRONMENT_NAME == "My Job"', "environment: $CI_JOB_NAME,"],
    ['$CI_ENVIRONMENT_NAME == "live/eu/eu"', `${named} environment: "live/%NAME%/\${NAME}",`],
  ] as const) {
    it(`sees ${condition}${job === "" ? "" : ` of ${job}`}`, async () => {
      expect(await isIn(condition, job)).to.equal(true);
    });
  }

  it("sees the name of the environment without variables of settings", async () => {
    const name = "environment: live/$NAME,";
    expect(await isIn('$CI_ENVIRONMENT_NAME == "live/"', name, { outer: { NAME: "a" } })).to.equal(
      true,
    );
    const atStart = { NAME: "a" };
    expect(await isIn('$CI_ENVIRONMENT_NAME == "live/a"', name, { atStart })).to.equal(true);
  });

  it("sees no variables of rules", async () => {
    const file = "a: {script: x, rules: [{if: $X, when: never}, {variables: {X: '1'}}]}";
    expect(await whenByName(file)).to.deep.equal({ a: "on_success" });
  });

  it("sees names that objects have by themselves only where they are variables", async () => {
    const parallel = "parallel: {matrix: [{A: [a]}]},";
    expect(await isIn("$constructor", parallel)).to.equal(false);
    expect(await isIn("$toString || $hasOwnProperty", parallel)).to.equal(false);
  });

  it("leaves out by `never`, and lets in by `only` and `except`", async () => {
    const file = `
a: {script: x, rules: [{if: '$CI_JOB_STAGE == "test"', when: never}, {when: on_success}]}
b: {script: x, only: {variables: ['$CI_JOB_NAME == "b"']}}
c: {script: x, except: {variables: ['$CI_JOB_NAME == "c"']}}
`;
    expect(await whenByName(file)).to.deep.equal({ b: "on_success" });
  });
});

describe("the conditions of a job that parallel makes several of", () => {
  it("are judged for each of a matrix", async () => {
    const file = `
a:
  script: x
  variables: {M: own}
  parallel: {matrix: [{M: [a, b, c]}]}
  rules: [{if: '$M == "a"', when: manual}, {if: '$CI_JOB_NAME == "a: [b]"', needs: []}]
`;
    expect(await whenByName(file)).to.deep.equal({ "a: [a]": "manual", "a: [b]": "on_success" });
    const { jobs } = await compile(file);
    expect(jobs.map(({ parallel, needs }) => [parallel, needs])).to.deep.equal([
      [{ index: 1, total: 3 }, null],
      [{ index: 2, total: 3 }, []],
    ]);
  });

  it("are judged for each number", async () => {
    const file = `
a: {script: x, parallel: 3, rules: [{if: '$CI_NODE_INDEX == "2" && $CI_NODE_TOTAL == "3"'}]}
b: {script: x, parallel: 2, only: {variables: ['$CI_NODE_INDEX == "1"']}}
`;
    expect(await whenByName(file)).to.deep.equal({ "a 2/3": "on_success", "b 1/2": "on_success" });
  });

  it("are judged with the environment of each", async () => {
    const file = `
a:
  script: x
  environment: review/$M
  parallel: {matrix: [{M: [a, b]}]}
  rules: [{if: '$CI_ENVIRONMENT_NAME == "review/b"'}]
`;
    expect(await whenByName(file)).to.deep.equal({ "a: [b]": "on_success" });
  });

  it("see outer variables over those of the matrix, which rules win over", async () => {
    const file = `
a:
  script: x
  parallel: {matrix: [{M: [a], N: [a]}]}
  rules: [{if: '$M == "outer" && $N == "a"', variables: {N: rule}}]
`;
    const { jobs } = await compile(file, { outer: { M: "outer" } });
    expect(jobs[0]?.variables.map(({ key, value }) => `${key}=${value}`)).to.deep.equal([
      "M=a",
      "N=rule",
    ]);
  });

  it("may leave out what another job needs", async () => {
    const file = (need: string) => `
a: {script: x, parallel: {matrix: [{M: [a, b]}]}, rules: [{if: '$M == "a"'}]}
b: {script: x, needs: [${need}]}
`;
    const { jobs } = await compile(file("a"));
    expect(jobs[1]?.needs).to.deep.equal([{ job: "a: [a]", artifacts: true }]);
    const left = await problems(file("{job: a, parallel: {matrix: [{M: b}]}}"));
    expect(left.join()).to.contain("its rules left it out");
  });

  it("name a mistake once", async () => {
    const file = `
a: {script: x, parallel: 3, rules: [{when: delayed}]}
b: {stage: gone, script: x, parallel: 3}
`;
    expect(await problems(file)).to.deep.equal(["2:29 a.rules: A delayed job needs start_in."]);
    expect(await problems("b: {stage: gone, script: x, parallel: 3}")).to.have.length(1);
  });
});
