import { expect } from "chai";
import { startOwnAgent } from "../support/agent/own-agent.ts";
import { pipelinesOf } from "../support/agent/pipeline-app.ts";
import { startTestApp } from "../support/app/app.ts";
import { basicAuth } from "../support/app/basic-auth.ts";
import { eventually as within } from "../support/app/eventually.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../support/git/git.ts";
import { needsProgram } from "../support/process/program.ts";

needsProgram("bash");
const app = await startTestApp({ workers: true });
const anna = await app.givenUser("anna");
const search = await app.givenProject(anna, "search");
await app.givenProject(anna, "library", { private: false });
const at = pipelinesOf(app, anna, search);
const { token } = anna;
await startOwnAgent(app, { base: "/project/anna/search/runners", token });

const remoteOf = (alias: string) => new URL(`/project/anna/${alias}.git`, app.url).href;
const authorization = ["-c", `http.extraHeader=Authorization: ${basicAuth("anna", token)}`];
const push = (copy: string, alias: string, branch: string) =>
  git(copy, ...authorization, "push", "--quiet", remoteOf(alias), `HEAD:${branch}`);

/** Pushes a branch with a job. @returns its log, once it has succeeded */
async function succeeded(branch: string, copy: string, job: string): Promise<string> {
  await commit(copy, "Add", { ".forge-ci.yaml": `build: ${job}\n` });
  await push(copy, "search", branch);
  const pipeline = await within(async () => {
    const [started] = await at.pipelines(`?branch=${branch}`);
    return ["SUCCESS", "FAILED"].includes(String(started?.["status"])) ? started : undefined;
  }, 120_000);
  const [build] = await at.jobs(pipeline?.["localId"]);
  const log = await app.get(`${at.base}/cicd/job/${build?.["localId"]}/log`, { token });
  expect(build?.["status"], log.text).to.equal("SUCCESS");
  return log.text;
}

async function copyOf(name: string): Promise<string> {
  return workingCopy(await temporaryDirectory(), name);
}

async function withLibrary(): Promise<string> {
  const copy = await copyOf("search");
  await git(copy, "submodule", "--quiet", "add", remoteOf("library"), "library");
  return copy;
}

before(async () => {
  const copy = await copyOf("library");
  await commit(copy, "First", { "a.txt": "of the library" });
  await push(copy, "library", "main");
});

describe("the sources of a job of the own agent", () => {
  it("hold submodules that lie in other projects, where everybody may read them", async () => {
    const job = "{script: [cat library/a.txt], variables: {GIT_SUBMODULE_STRATEGY: normal}}";
    const log = await succeeded("submodule", await withLibrary(), job);
    expect(log).to.include("\nof the library");
  });

  it("are fetched by a script as well, and the token of the job lies in no file", async () => {
    const fetch = "git fetch --quiet origin other && git log -1 --format=%H FETCH_HEAD";
    const copy = await copyOf("search");
    const other = await commit(copy, "Other", { "other.txt": "other" });
    await push(copy, "search", "other");
    const log = await succeeded("fetching", copy, `{script: [${fetch}, '! grep -r lfjt_ .git ~']}`);
    expect(log).to.include(`\n${other}\n`);
  });
});

describe("large files among the sources of a job of the own agent", () => {
  needsProgram("git-lfs");

  /** As in a sandbox, where git does not see the configuration of the machine. */
  const variables = (more: string) => `variables: {GIT_CONFIG_NOSYSTEM: '1'${more}}`;

  async function withLargeFile(copy: string): Promise<string> {
    await git(copy, "lfs", "install", "--local");
    await git(copy, "lfs", "track", "*.bin");
    await commit(copy, "Large", { "large.bin": "large indeed" });
    return copy;
  }

  it("are there, also in submodules", async () => {
    const library = await withLargeFile(await copyOf("library"));
    await push(library, "library", "large");
    const copy = await withLargeFile(await withLibrary());
    await git(copy, "submodule", "--quiet", "set-branch", "--branch", "large", "library");
    await git(copy, "submodule", "--quiet", "update", "--remote");
    const script = "cat large.bin library/large.bin, 'git status --short'";
    const job = `{script: [${script}], ${variables(", GIT_SUBMODULE_STRATEGY: recursive")}}`;
    const log = await succeeded("large", copy, job);
    expect(log).to.match(/^large indeedlarge indeed/m);
  });

  it("are left out with GIT_LFS_SKIP_SMUDGE", async () => {
    const copy = await withLargeFile(await copyOf("search"));
    const job = `{script: [cat large.bin], ${variables(", GIT_LFS_SKIP_SMUDGE: '1'")}}`;
    expect(await succeeded("pointer", copy, job)).to.include("git-lfs.github.com/spec");
  });
});
