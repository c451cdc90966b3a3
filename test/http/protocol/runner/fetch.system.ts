import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";
import { startAppWithAgent } from "../../../support/agent/agent-app.ts";
import type { TakenJob } from "../../../support/agent/agent-job.ts";
import { pipelinesOf } from "../../../support/agent/pipeline-app.ts";
import { basicAuth } from "../../../support/app/basic-auth.ts";
import { repositoriesAt } from "../../../support/client/registry.ts";
import { commit, git, temporaryDirectory, tryGit, workingCopy } from "../../../support/git/git.ts";
import { needsProgram } from "../../../support/process/program.ts";

const { app, anna, token, search, at, put, begin } = await startAppWithAgent();

const yaml = (variables = "") => `${variables}\nbuild:\n  script: [make]\n`;

type GitInfo = Readonly<{ repo_url: string; sha: string; refspecs: string[]; depth: number }>;
const infoOf = (job: TakenJob) => job["git_info"] as GitInfo;

/** What gitlab-runner does with a job. @returns the directory, and how the fetch ended */
async function fetched({ repo_url, refspecs, depth }: GitInfo, options: readonly string[] = []) {
  const directory = await temporaryDirectory();
  await git(directory, "init", "--quiet");
  await git(directory, "remote", "add", "origin", repo_url);
  const few = depth > 0 ? ["--depth", String(depth)] : [];
  const flags = ["--no-recurse-submodules", ...few, "--prune", "--quiet"];
  const ran = await tryGit(directory, [...options, "fetch", "origin", ...refspecs, ...flags]);
  return { directory, ...ran };
}

async function checkedOut(info: GitInfo, options: readonly string[] = []): Promise<string> {
  const { directory, exitCode, stderr } = await fetched(info, options);
  expect(exitCode, stderr).to.equal(0);
  await git(directory, "checkout", "-f", "-q", info.sha);
  return directory;
}

describe("git with what a job is given", () => {
  it("fetches the commit by the token of the job, until the job ends", async () => {
    const hash = await at.commit({ ".forge-ci.yaml": yaml() });
    await at.start();
    const job = await begin();
    const info = infoOf(job);
    expect(info.sha).to.equal(hash);
    for (const version of ["0", "2"]) {
      const directory = await checkedOut(info, ["-c", `protocol.version=${version}`]);
      expect(await git(directory, "rev-parse", "HEAD")).to.equal(hash);
      const refs = await git(directory, "for-each-ref", "--format=%(refname) %(objectname)");
      expect(refs).to.match(new RegExp(`^refs/pipelines/\\d+ ${hash}$`));
    }
    await put(job, { state: "success" });
    expect((await fetched(info)).exitCode).not.to.equal(0);
  });

  it("fetches a commit that no branch holds any more", async () => {
    await at.commit({ "gone.txt": "g\n" });
    await at.start();
    const job = await begin();
    const copy = await temporaryDirectory();
    const url = new URL("/project/anna/search.git", app.url);
    Object.assign(url, { username: "anna", password: token });
    await git(copy, "clone", "--quiet", url.href, ".");
    await git(copy, "push", "--quiet", "--force", "origin", "HEAD~1:main");
    const directory = await checkedOut(infoOf(job));
    expect(await git(directory, "show", "HEAD:gone.txt")).to.equal("g");
    await put(job, { state: "success" });
  });

  it("fetches nothing once whom the job acts for has lost the project", async () => {
    const bob = await app.givenUser("bob");
    const member = "/project/anna/search/member";
    const invited = { token, body: { userAlias: "bob", role: "DEVELOPER" } };
    expect((await app.post(`${member}/invite`, invited)).status).to.be.below(300);
    await pipelinesOf(app, bob, search).start();
    const job = await begin();
    const info = infoOf(job);
    expect((await fetched(info)).exitCode).to.equal(0);
    expect((await app.delete(`${member}/bob`, { token })).status).to.be.below(300);
    expect((await fetched(info)).exitCode).not.to.equal(0);
    await put(job, { state: "success" });
  });

  it("fetches all branches and tags when the depth is 0", async () => {
    await at.commit({ ".forge-ci.yaml": yaml("variables: {GIT_DEPTH: 0}") });
    await at.start();
    const job = await begin();
    const info = infoOf(job);
    expect(info.depth).to.equal(0);
    const directory = await checkedOut(info);
    expect(await git(directory, "rev-parse", "origin/main")).to.equal(info.sha);
    expect(Number(await git(directory, "rev-list", "--count", "HEAD"))).to.be.greaterThan(1);
    await put(job, { state: "success" });
  });
});

describe("git-lfs with what a job is given", () => {
  needsProgram("git-lfs");

  /** Pushes a large file to a project. @returns its address, with the token of a job when there is one */
  async function given(alias: string, file: Readonly<Record<string, string>> = {}) {
    const copy = await workingCopy(await temporaryDirectory(), "copy");
    const remote = new URL(`/project/anna/${alias}.git`, app.url);
    Object.assign(remote, { username: "anna", password: token });
    await git(copy, "lfs", "install", "--local");
    await git(copy, "lfs", "track", "*.bin");
    await commit(copy, "Add", { ...file, "large.bin": "large" });
    await git(copy, "push", "--quiet", remote.href, "HEAD:refs/heads/large");
    return (job: TakenJob) => {
      Object.assign(remote, { username: "gitlab-ci-token", password: job.token });
      return remote.href;
    };
  }

  async function pulled(url: string): Promise<string> {
    const directory = await temporaryDirectory();
    await git(directory, "init", "--quiet");
    await git(directory, "lfs", "install", "--local", "--skip-smudge");
    await git(directory, "remote", "add", "origin", url);
    await git(directory, "pull", "--quiet", "origin", "large");
    await git(directory, "lfs", "pull", "origin");
    return readFile(path.join(directory, "large.bin"), "utf8");
  }

  it("fetches large files", async () => {
    await given("search", { ".forge-ci.yaml": yaml() });
    await at.start({ ref: "large" });
    const job = await begin();
    expect(await pulled(infoOf(job).repo_url)).to.equal("large");
    await put(job, { state: "success" });
  });

  it("fetches those of other projects that everybody may read, as the submodules of a job", async () => {
    await app.givenProject(anna, "open", { private: false });
    await app.givenProject(anna, "closed");
    const [open, closed] = [await given("open"), await given("closed")];
    await at.start();
    const job = await begin();
    expect(await pulled(open(job))).to.equal("large");
    await expect(pulled(closed(job))).to.be.rejectedWith("403");
    const copy = await workingCopy(await temporaryDirectory(), "copy");
    await commit(copy, "More");
    const pushed = await tryGit(copy, ["push", open(job), "HEAD:refs/heads/more"]);
    expect(pushed.stderr).to.include("403");
    await put(job, { state: "success" });
    await expect(pulled(open(job))).to.be.rejected;
  });
});

describe("the token of a job", () => {
  it("reads packages and LFS objects of the job's project, until the job ends", async () => {
    const other = await app.givenProject(anna, "other");
    for (const { alias } of [search, other]) {
      const repositories = repositoriesAt(app, `/project/anna/${alias}/repositories`, token);
      await repositories.local("files", "generic");
      const headers = { authorization: `token ${token}` };
      const url = `${app.url}/registry/project/anna/${alias}/repository/files/tool/1/a`;
      const stored = await fetch(url, { method: "PUT", headers, body: "content" });
      expect(stored.status).to.equal(201);
    }
    await at.start();
    const job = await begin();
    const basic = basicAuth("gitlab-ci-token", job.token);
    const file = (alias: string, headers: Record<string, string>, method = "GET") =>
      fetch(`${app.url}/registry/project/anna/${alias}/repository/files/tool/1/a`, {
        method,
        headers,
        ...(method === "PUT" && { body: "changed" }),
      });
    const credentials = [
      { authorization: basic },
      { authorization: `Bearer ${job.token}` },
      { "job-token": job.token },
    ];
    for (const headers of credentials) {
      const answer = await file("search", headers);
      expect([answer.status, await answer.text()]).to.deep.equal([200, "content"]);
    }
    const proof = { authorization: basic };
    expect((await file("search", proof, "PUT")).status).to.equal(201);
    for (const method of ["GET", "PUT"]) {
      expect((await file("other", proof, method)).status).to.equal(403);
    }
    const batch = (operation: string) =>
      fetch(`${app.url}/project/anna/search.git/info/lfs/objects/batch`, {
        method: "POST",
        headers: { ...proof, "content-type": "application/vnd.git-lfs+json" },
        body: JSON.stringify({ operation, objects: [{ oid: "0".repeat(64), size: 1 }] }),
      });
    expect((await batch("download")).status).to.equal(200);
    expect((await batch("upload")).status).to.equal(403);
    await put(job, { state: "success" });
    for (const headers of credentials) expect((await file("search", headers)).status).to.equal(401);
    expect((await batch("download")).status).to.equal(401);
  });
});
