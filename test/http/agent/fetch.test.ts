import { expect } from "chai";

import { givenAgent } from "../../support/agent.ts";
import { agentTalk, type TakenJob } from "../../support/agent-job.ts";
import { startTestApp } from "../../support/app.ts";
import { git, temporaryDirectory, tryGit } from "../../support/git.ts";
import { pipelinesOf } from "../../support/pipeline-app.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");
const search = await app.givenProject(anna, "search");
const at = pipelinesOf(app, anna, search);
const { token } = anna;
const agent = await givenAgent(app, { base: "/project/anna/search/runners", token });
const { put, begin } = agentTalk(app, agent.token);

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
