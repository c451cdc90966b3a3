import { readdir } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";
import { testEngine } from "../support/agent/container-engine.ts";
import { hasSandbox, needsSandbox, startOwnAgent } from "../support/agent/own-agent.ts";
import { pipelinesOf, type View } from "../support/agent/pipeline-app.ts";
import { startTestApp } from "../support/app/app.ts";
import { basicAuth } from "../support/app/basic-auth.ts";
import { eventually } from "../support/app/eventually.ts";
import { repositoriesAt } from "../support/client/registry.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../support/git/git.ts";
import { needsProgram } from "../support/process/program.ts";

const engine = await testEngine();
const app = await startTestApp({ workers: true });
const anna = await app.givenUser("anna");
const { token } = anna;
await app.givenProject(anna, "library", { private: false });
const at = pipelinesOf(app, anna, await app.givenProject(anna, "search"));
const runners = { base: "/project/anna/search/runners", token };
const own = { executor: "docker", concurrency: 2 } as const;
const agent = engine && (await startOwnAgent(app, runners, own));
const host = new URL(app.url).host;

/** Pushes to the registry of the service. The project is private: the job needs its token to pull the image. */
async function push(name: "plain" | "greeting"): Promise<void> {
  const image = `${host}/anna/search/images/${name}:1.0`;
  const login = ["--username", "anna", "--password", token, host];
  await engine?.call("login", ...login);
  await engine?.call("tag", engine.image(name), image);
  await engine?.call("push", image);
  await engine?.call("rmi", image);
  await engine?.call("logout", host);
}

before(async () => {
  if (engine === undefined) return;
  await repositoriesAt(app, "/project/anna/search/repositories", token).local(
    "images",
    "container",
  );
  await push("plain");
  await push("greeting");
});

const remoteOf = (alias: string) => new URL(`/project/anna/${alias}.git`, app.url).href;

/** Pushes a commit, whose submodule is the library. @returns its jobs by name, once they have ended */
async function ended(
  file: string,
  { large }: Readonly<{ large?: string }> = {},
): Promise<Readonly<Record<string, View>>> {
  const parent = await temporaryDirectory();
  const earlier = (await at.pipelines()).length;
  const login = `http.extraHeader=Authorization: ${basicAuth("anna", token)}`;
  for (const alias of ["library", "search"]) {
    const copy = await workingCopy(parent, alias);
    if (alias === "search") {
      await git(copy, "submodule", "--quiet", "add", remoteOf("library"), "library");
    }
    if (large !== undefined) {
      await git(copy, "lfs", "install", "--local");
      await git(copy, "lfs", "track", "*.bin");
      await commit(copy, "Add", { "large.bin": `${large}\n` });
    }
    await commit(copy, "Change", { "a.txt": `of ${alias}\n`, ".forge-ci.yaml": file });
    await git(copy, "-c", login, "push", "--force", "--quiet", remoteOf(alias), "HEAD:main");
  }
  const pipeline = await eventually(async () => {
    const [started, ...more] = await at.pipelines();
    if (more.length < earlier) return undefined;
    const isOver = ["SUCCESS", "FAILED", "WARNING"].includes(String(started?.["status"]));
    return isOver ? started : undefined;
  }, 120_000);
  return Object.fromEntries(
    (await at.jobs(pipeline?.["localId"])).map((job) => [String(job["name"]), job]),
  );
}

const logOf = async (job: View | undefined): Promise<string> =>
  (await app.get(`${at.base}/cicd/job/${job?.["localId"]}/log`, { token })).text;

describe("an agent with containers", () => {
  it("runs a pipeline whose images are in the registry of the service", async () => {
    const jobs = await ended(`
variables: {NAMED: "1.0"}
image: $CI_REGISTRY/anna/search/images/plain:$NAMED
stages: [build, test]
build:
  stage: build
  hooks: {pre_get_sources_script: ["git --version"]}
  variables: {GIT_SUBMODULE_STRATEGY: normal, GREETING: hello, NAME: Anna}
  services: [{name: "$CI_REGISTRY/anna/search/images/greeting:1.0", alias: web}]
  cache: {key: one, paths: [kept]}
  script:
    - cat ${hasSandbox ? "library/a.txt" : "a.txt"}
    - nc web 80 </dev/null
    - mkdir out kept; echo built > out/a.txt; echo kept > kept/b.txt
    - echo VERSION=1.2 > build.env
  artifacts: {paths: [out], reports: {dotenv: [build.env]}}
test:
  stage: test
  cache: {key: one, paths: [kept], policy: pull}
  script: ['cat out/a.txt kept/b.txt', 'echo "version $VERSION in $CI_PROJECT_DIR of $CI_JOB_IMAGE"']
`);
    const [build, test] = [await logOf(jobs["build"]), await logOf(jobs["test"])];
    expect(jobs["build"], build).to.include({ status: "SUCCESS" });
    expect(jobs["test"], test).to.include({ status: "SUCCESS" });
    expect(build).to.match(hasSandbox ? /^of library$/m : /^of search$/m);
    expect(build).to.match(/^hello of Anna$/m);
    expect(test).to.match(/^built\nkept$/m);
    expect(test).to.contain(
      `version 1.2 in /builds/search of ${host}/anna/search/images/plain:1.0`,
    );
  }).timeout(180_000);

  it("ends jobs whose time is over, side by side, and leaves nothing of them", async () => {
    const jobs = await ended(`
image: $CI_REGISTRY/anna/search/images/plain:1.0
one: {timeout: 3 seconds, script: ["sleep 100 & wait"]}
two: {timeout: 3 seconds, script: ["sleep 100"], services: ["$CI_REGISTRY/anna/search/images/greeting:1.0"]}
`);
    for (const name of ["one", "two"]) {
      const log = await logOf(jobs[name]);
      expect(jobs[name], log).to.include({ status: "FAILED" });
      expect(log).to.contain("took longer than 3 seconds");
    }
    const filter = ["--quiet", "--filter", "label=ledgerforge.run"];
    const own = async () => (await engine?.call("ps", "--all", ...filter)) === "";
    await eventually(own);
    const work = agent?.work ?? "";
    await eventually(async () => (await readdir(path.join(work, "jobs"))).length === 0);
  }).timeout(180_000);
});

describe("a large file in a container", () => {
  needsProgram("git-lfs");
  // Git on the machine fetches none.
  needsSandbox();

  it("is read by its job, unless the pointer is wanted", async () => {
    const jobs = await ended(
      `
image: $CI_REGISTRY/anna/search/images/plain:1.0
large: {script: ["cat large.bin"]}
pointer: {variables: {GIT_LFS_SKIP_SMUDGE: "1"}, script: ["cat large.bin"]}
`,
      { large: "read by the job" },
    );
    const [large, pointer] = [await logOf(jobs["large"]), await logOf(jobs["pointer"])];
    expect(jobs["large"], large).to.include({ status: "SUCCESS" });
    expect(large).to.match(/^read by the job$/m);
    expect(jobs["pointer"], pointer).to.include({ status: "SUCCESS" });
    expect(pointer).to.contain("git-lfs.github.com/spec").and.not.to.contain("read by the job");
  }).timeout(180_000);
});
