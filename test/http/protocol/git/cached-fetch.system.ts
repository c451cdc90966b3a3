import { expect } from "chai";

import { basicAuth } from "../../../support/app/basic-auth.ts";
import type { TestProject, TestUser } from "../../../support/app/git-app.ts";
import { fetchRequest, git, tryGit } from "../../../support/git/git.ts";
import { packCacheWorld } from "../../../support/git/pack-cache-world.ts";

const { app, parent, given, filled, clone, uploadPacksWhile } = await packCacheWorld();
let anna: TestUser;
let bert: TestUser;
let copy: string;
before(() => {
  ({ anna, bert, copy } = given());
});

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
