import { writeFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import { repositoryStream } from "../../src/events/repository/repository.ts";
import { startGitApp, type TestProject, type TestUser } from "../support/app/git-app.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../support/git/git.ts";
import { runCli } from "../support/process/cli.ts";

const app = await startGitApp();
const parent = await temporaryDirectory();
let anna: TestUser;
let changed: TestProject;
let quiet: TestProject;
let head: string;

before(async () => {
  anna = await app.user("anna");
  changed = await app.project(anna, "changed");
  quiet = await app.project(anna, "quiet");
  await app.project(anna, "empty");
  const copy = await workingCopy(parent, "copy");
  head = await commit(copy, "First");
  for (const project of [changed, quiet]) {
    await git(copy, "push", "--quiet", app.remote(project, anna), "main", "main:dev");
  }
});

const scan = (...names: string[]) => runCli(app, "scan", ...names);

async function recordedChanges(project: TestProject): Promise<readonly string[]> {
  const changes: string[] = [];
  for await (const { type, data, metadata } of app.store.readStream(repositoryStream(project.id))) {
    const who = metadata.actor.alias ?? "the system";
    changes.push(`${type} ${data["branch"] ?? data["tag"]} by ${who}`);
  }
  return changes;
}

describe("a scan", function () {
  // Each is a start of the program.
  this.timeout(600_000);

  it("records direct changes of a repository once, as the system's", async () => {
    const gitDir = (await app.git.find(changed.id))?.gitDir ?? "";
    await git(gitDir, "--git-dir=.", "update-ref", "refs/tags/outside", head);
    await git(gitDir, "--git-dir=.", "update-ref", "-d", "refs/heads/dev");
    const before = await recordedChanges(quiet);

    const first = await scan();
    expect(first).to.deep.equal({
      code: 0,
      out: `${changed.id}: 2 changes recorded\n3 projects, 1 differed, 0 failed\n`,
    });
    expect((await recordedChanges(changed)).slice(-2)).to.deep.equal([
      "BranchDeleted dev by the system",
      "TagCreated outside by the system",
    ]);
    expect(await recordedChanges(quiet)).to.deep.equal(before);
    expect((await scan()).out).to.equal("3 projects, 0 differed, 0 failed\n");
  });

  it("goes on when a repository cannot be read, and exits with 1", async () => {
    const gitDir = (await app.git.find(quiet.id))?.gitDir ?? "";
    await writeFile(path.join(gitDir, "packed-refs"), "no refs at all\n");
    const { code, out } = await scan();
    expect(code).to.equal(1);
    expect(out).to.contain(`${quiet.id}: could not be compared`);
    expect(out).to.contain("3 projects, 0 differed, 1 failed");
    expect((await scan("anna/changed")).out).to.equal("1 projects, 0 differed, 0 failed\n");
  });

  it("knows no project that there is not", async () => {
    expect(await scan("anna/none")).to.deep.include({ code: 78 });
  });
});
