import path from "node:path";
import { expect } from "chai";

import { basicAuth } from "../../support/app/basic-auth.ts";
import { startGitApp, type TestProject, type TestUser } from "../../support/app/git-app.ts";
import {
  commit,
  fetchRequest,
  git,
  temporaryDirectory,
  tryGit,
  workingCopy,
} from "../../support/git/git.ts";
import { spawnedWhile } from "../../support/process/spawned.ts";

const app = await startGitApp();
const parent = await temporaryDirectory();
let anna: TestUser;
let bert: TestUser;
let copy: string;
let count = 0;

before(async () => {
  anna = await app.user("anna");
  bert = await app.user("bert");
  copy = await workingCopy(parent, "copy");
  for (let index = 1; index <= 5; index += 1) {
    await commit(copy, `Commit ${index}`, { "a.txt": `${index}\n`, [`${index}.txt`]: "x\n" });
  }
});

async function filled(alias: string, owner = anna): Promise<TestProject> {
  const project = await app.project(owner, alias);
  await git(copy, "push", "--quiet", app.remote(project, owner), "main");
  return project;
}

async function clone(from: string, ...options: readonly string[]): Promise<string> {
  count += 1;
  const into = path.join(parent, `clone-${count}`);
  await git(parent, "clone", "--quiet", "--mirror", ...options, from, into);
  return into;
}

/** How often git made a pack, or a list of refs, meanwhile. */
async function uploadPacksWhile(run: () => Promise<unknown>): Promise<number> {
  const lines = await spawnedWhile(run);
  return lines.filter((line) => /upload-pack --stateless-rpc (?!--advertise)/.test(line)).length;
}

/** How many objects are in the pack that answers a request for a commit and its tags. */
async function objectsSent(project: TestProject, commitId: string): Promise<number> {
  const response = await fetch(`${app.url}${project.path}.git/git-upload-pack`, {
    method: "POST",
    headers: {
      authorization: basicAuth("anna", anna.token),
      "content-type": "application/x-git-upload-pack-request",
      "git-protocol": "version=2",
    },
    body: fetchRequest(commitId),
  });
  const answer = Buffer.from(await response.arrayBuffer());
  // The signature, the version, how many objects follow; gitformat-pack(5).
  return answer.readUInt32BE(answer.indexOf("PACK") + 8);
}

describe("a repeated fetch", () => {
  it("is made once more and kept: later clients with the same request get it without git", async () => {
    const from = app.remote(await filled("same"), anna);
    const into: string[] = [];
    const one = async (): Promise<void> => void into.push(await clone(from));

    expect(await uploadPacksWhile(one), "first").to.equal(1);
    expect(await uploadPacksWhile(one), "second").to.equal(1);
    expect(await uploadPacksWhile(() => Promise.all([one(), one(), one()])), "then").to.equal(0);
    for (const each of into) {
      await git(each, "fsck", "--full", "--strict");
      expect(await git(each, "rev-parse", "main")).to.equal(await git(copy, "rev-parse", "main"));
    }
  });

  it("is made for all requests of one moment, more than a caller has places", async () => {
    const from = app.remote(await filled("crowd"), anna);
    await clone(from);
    const crowd = () => Promise.all(Array.from({ length: 12 }, () => clone(from)));
    expect(await uploadPacksWhile(crowd)).to.be.within(1, 6);
  });

  it("is another one when a ref has moved, come or gone", async () => {
    const project = await filled("moving");
    const from = app.remote(project, anna);
    const ask = async (): Promise<string> => {
      const into = await clone(from);
      return git(into, "for-each-ref", "--format=%(objectname) %(refname)");
    };
    const said = () => git(repository.gitDir, "for-each-ref", "--format=%(objectname) %(refname)");
    const repository = (await app.git.find(project.id))!;
    await ask();
    await ask();
    const changes = [
      { refs: ["HEAD~1:refs/heads/more"], made: 1 },
      { refs: ["HEAD~2:refs/heads/more", "--force"], made: 1 },
      // As it was before: that one is kept.
      { refs: [":refs/heads/more"], made: 0 },
      { refs: ["HEAD~1:refs/tags/v1"], made: 1 },
    ];
    for (const { refs, made } of changes) {
      await git(copy, "push", "--quiet", from, ...refs);
      const same = async () => expect(await ask()).to.equal(await said());
      expect(await uploadPacksWhile(same), refs[0]).to.equal(made);
    }
    await git(repository.gitDir, "pack-refs", "--all", "--prune");
    expect(await ask()).to.equal(await said());
  });

  it("brings the tags of what it fetches, which the request does not name", async () => {
    const project = await filled("tagged");
    const head = await git(copy, "rev-parse", "main");
    const before = await objectsSent(project, head);
    for (let round = 0; round < 2; round += 1) {
      expect(await objectsSent(project, head)).to.equal(before);
    }
    await git(copy, "tag", "-a", "v9", "-m", "Nine", "main");
    await git(copy, "push", "--quiet", app.remote(project, anna), "v9");
    for (let round = 0; round < 3; round += 1) {
      expect(await objectsSent(project, head)).to.equal(before + 1);
    }
    await git(copy, "push", "--quiet", app.remote(project, anna), ":v9");
    expect(await objectsSent(project, head)).to.equal(before);
  });

  it("depends on the request: depth, filter, what the client has already", async () => {
    const from = app.remote(await filled("kinds"), anna);
    for (let round = 0; round < 3; round += 1) {
      const shallow = await clone(from, "--depth=2");
      expect(await git(shallow, "rev-list", "--count", "main")).to.equal("2");
      const partial = await clone(from, "--filter=blob:none");
      const missing = await git(partial, "rev-list", "--objects", "--missing=print", "main");
      expect(missing).to.match(/^\?[0-9a-f]{40}$/m);
      const whole = await clone(from);
      expect(await git(whole, "rev-list", "--count", "main")).to.equal("5");
      await git(whole, "fsck", "--full", "--strict");
    }
  });

  it("gives nobody what they may not read, and one project nothing of another", async () => {
    const secret = await filled("secret");
    await clone(app.remote(secret, anna));
    await clone(app.remote(secret, anna));
    const { exitCode, stderr } = await tryGit(parent, ["ls-remote", app.remote(secret, bert)]);
    expect(exitCode).to.equal(128);
    expect(stderr).to.match(/not found|403|404/i);

    const other = await app.project(bert, "secret");
    await git(copy, "push", "--quiet", app.remote(other, bert), "main~3:refs/heads/main");
    const into = await clone(app.remote(other, bert));
    expect(await git(into, "rev-list", "--count", "main")).to.equal("2");
  });

  it("that git refuses is refused each time, with git's words", async () => {
    const from = app.remote(await filled("refused"), anna);
    for (let round = 0; round < 3; round += 1) {
      const args = ["fetch", "--quiet", from, "1".repeat(40)];
      const { exitCode, stderr } = await tryGit(copy, args);
      expect(exitCode).to.equal(128);
      expect(stderr).to.match(/not our ref|upload-pack/);
    }
  });
});
