import { expect } from "chai";
import { startAppWithAgent } from "../../../support/agent/agent-app.ts";

const { app, token, at, begin, put } = await startAppWithAgent();

before(async () => {
  await at.commit({ ".forge-ci.yaml": "a: {script: x}", "main-1": "x" }, "[skip ci] Begin");
  const everybody = { allowedToPush: "DEVELOPER", allowedToMerge: "DEVELOPER" };
  for (const [path, body] of [
    ["branch", { newBranch: "topic", originBranch: "main" }],
    ["branch-protection/create", { branchTemplate: "main", ...everybody, allowForcePush: false }],
  ] as const) {
    const { status, text } = await app.post(`${at.base}/${path}`, { token, body });
    expect(status, text).to.be.within(200, 201);
  }
});

type Cache = Readonly<{ key: string; fallback_keys: readonly string[] }>;
type Variable = Readonly<{ key: string; value: string }>;

let commits = 1;

type Given = Readonly<{ caches: readonly Cache[]; variables: readonly Variable[] }>;

/** The jobs of a branch as their agent gets them, by name. */
async function jobsOn(
  refName: "main" | "topic",
  file: string,
  variables: readonly Variable[],
): Promise<ReadonlyMap<string, Given>> {
  commits += 1;
  const files = { [`${refName}-${commits}`]: "x", ".forge-ci.yaml": `# ${commits}\n${file}` };
  await at.commit(files, "[skip ci] Change", refName);
  const { localId } = await at.start({ refName, isTag: false, variables });
  const given = new Map<string, Given>();
  for (const _ of await at.jobs(localId)) {
    const job = await begin();
    await put(job, { state: "success" });
    const caches = job["cache"] as readonly Cache[];
    const { name } = job["job_info"] as { name: string };
    given.set(name, { caches, variables: job["variables"] as readonly Variable[] });
  }
  return given;
}

/** The job `a` of a branch. */
async function jobOn(
  refName: "main" | "topic",
  file: string,
  variables: readonly Variable[] = [],
): Promise<Given> {
  const job = (await jobsOn(refName, file, variables)).get("a");
  if (job === undefined) throw new Error("the file has no job a");
  return job;
}

const keysOf = (caches: readonly Cache[]): readonly string[] =>
  caches.flatMap(({ key, fallback_keys: more }) => [key, ...more]);
const onBoth = async (file: string, variables: readonly Variable[] = []) => ({
  open: await jobOn("topic", file, variables),
  closed: await jobOn("main", file, variables),
});
const valuesOf = (variables: readonly Variable[], name: string): readonly string[] =>
  variables.filter(({ key }) => key === name).map(({ value }) => value);

/** What a runner makes of a dollar sign before the mark: `$-` is a variable without a value, as in a shell. */
const asShell = (key: string): string => key.replaceAll("$-", "").replaceAll("$$", "$");

const ways: Readonly<Record<string, string>> = {
  unprotect: "{key: x-protected, unprotect: true, paths: [k]}",
  "a key that ends like the other": "{key: x-non_protected, paths: [k]}",
  "a dollar sign at the end": "{key: x-non_$, paths: [k]}",
  "a name that is not closed": `{key: "x-non_protected${"$"}{", paths: [k]}`,
  "a prefix": "{key: {files: [main-1], prefix: x-protected}, unprotect: true, paths: [k]}",
  "fallback keys": "{key: y, fallback_keys: [x-protected, x-non_$], unprotect: true, paths: [k]}",
  "a variable": "{key: $END, fallback_keys: [$END], unprotect: true, paths: [k]}",
};

describe("the keys of caches", () => {
  let jobs: Readonly<Record<"topic" | "main", ReadonlyMap<string, Given>>>;
  before(async () => {
    const lines = Object.entries(ways).map(
      ([what, cache]) => `${JSON.stringify(what)}: {script: x, cache: ${cache}}\n`,
    );
    const variables = [{ key: "END", value: "x-protected" }];
    const on = (refName: "main" | "topic") => jobsOn(refName, lines.join(""), variables);
    jobs = { topic: await on("topic"), main: await on("main") };
  });

  for (const what of Object.keys(ways)) {
    it(`of protected and other refs end differently with ${what}`, () => {
      const keysOn = (ref: "topic" | "main") => keysOf(jobs[ref].get(what)?.caches ?? []);
      const [ofOpen, ofClosed] = [keysOn("topic"), keysOn("main")];
      expect(ofOpen.length).to.equal(ofClosed.length).and.be.above(0);
      for (const key of ofOpen.map(asShell)) expect(key).to.match(/.-non_protected$/);
      for (const key of ofClosed.map(asShell)) expect(key).to.match(/(?<!-non_)(?<=-)protected$/);
    });
  }

  const sources: Readonly<Record<string, readonly [file: string, given?: readonly Variable[]]>> = {
    "the file": ["variables: {CACHE_FALLBACK_KEY: common-protected}\n"],
    "the job": ["", []],
    "the start of the pipeline": ["", [{ key: "CACHE_FALLBACK_KEY", value: "common-protected" }]],
    "the settings": [""],
  };
  for (const [source, [head, given = []]] of Object.entries(sources)) {
    it(`take the common fallback key of ${source} as one of their own kind`, async () => {
      const setting = `${at.base}/setting/cicd/variable`;
      const own = source === "the job" ? ", variables: {CACHE_FALLBACK_KEY: common-protected}" : "";
      const body = { key: "CACHE_FALLBACK_KEY", value: "common-protected" };
      const set = source === "the settings" && (await app.post(setting, { token, body })).body;
      const { open, closed } = await onBoth(
        `${head}a: {script: x, cache: {key: y, fallback_keys: [z], paths: [k]}${own}}\n`,
        given,
      );
      if (set) await app.delete(`${setting}/${set["id"]}`, { token });
      expect(keysOf(open.caches)).to.deep.equal(
        ["y", "z", "common-protected"].map((key) => `${key}-non_protected`),
      );
      expect(keysOf(closed.caches)).to.deep.equal(
        ["y", "z", "common-protected"].map((key) => `${key}-protected`),
      );
      for (const { variables } of [open, closed]) {
        expect(valuesOf(variables, "CACHE_FALLBACK_KEY")).to.deep.equal([""]);
      }
    });
  }

  it("lead out of the project in no way that a runner follows", async () => {
    const keys = ["../1/x", "%2E%2e/x", "$UP/x", ".$-./x", "a/.$NONE./x"];
    const caches = keys.slice(0, 4).map((key) => `{key: "${key}", paths: [k]}`);
    const { caches: given } = await jobOn("topic", `a: {script: x, cache: [${caches.join()}]}`, [
      { key: "UP", value: "a/../.." },
    ]);
    expect(given.map(({ key }) => key)).to.deep.equal(
      ["__/1/x", "__/x", "a/__/__/x", ".-./x"].map((key) => `${key}-non_protected`),
    );
    const more = await jobOn("topic", `a: {script: x, cache: {key: "${keys[4]}", paths: [k]}}`);
    expect(more.caches[0]?.key).to.equal("a/__/x-non_protected");
  });

  it("lead out of the project by no value that the runner gets another of", async () => {
    const name = "CACHE_FALLBACK_KEY";
    const file = `a: {script: x, cache: {key: "a/.$${name}./x", paths: [k]}}`;
    const { caches, variables } = await jobOn("topic", file, [{ key: name, value: "b" }]);
    const [value = "b"] = valuesOf(variables, name);
    expect(keysOf(caches).map((key) => key.replace(`$${name}`, value))).to.deep.equal(
      ["a/__/x", "b"].map((key) => `${key}-non_protected`),
    );
  });

  it("keep the references to variables that only the agent knows", async () => {
    const { caches } = await jobOn(
      "topic",
      "a: {script: x, cache: {key: a-$RUNNER_ONLY-$$, paths: [k]}}",
    );
    expect(caches[0]?.key).to.equal("a-$RUNNER_ONLY-$$-non_protected");
  });

  it("belong to the protection that the ref has, whatever a variable says of it", async () => {
    const given = [{ key: "CI_COMMIT_REF_PROTECTED", value: "true" }];
    const { variables } = await jobOn("topic", "a: {script: x}\n", given);
    expect(valuesOf(variables, "CI_COMMIT_REF_PROTECTED")).to.deep.equal(["false"]);
  });
});

describe("the lint of a file with unprotect", () => {
  it("warns that it has no effect", async () => {
    const content = "a:\n  script: x\n  cache: {key: y, unprotect: true, paths: [k]}\n";
    const { body } = await app.post(`${at.base}/cicd/lint`, { token, body: { content } });
    expect(body).to.include({ valid: true });
    expect(body["warnings"]).to.deep.equal([
      ".forge-ci.yaml:3: a.cache: unprotect has no effect: protected refs have their own caches.",
    ]);
  });
});
