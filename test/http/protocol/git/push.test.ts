import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { expect } from "chai";

import { repositoryStream } from "../../../../src/events/repository/repository.ts";
import { flushPacket, packet } from "../../../../src/git/pkt-line.ts";
import type { TestProject, TestUser } from "../../../support/app/git-app.ts";
import { commit, git, tryGit } from "../../../support/git/git.ts";
import { pushWorld } from "../../../support/git/push-world.ts";

const pushes = await pushWorld();
const { app, parent, recordedChanges } = pushes;
let anna: TestUser;
let project: TestProject;
let copy: string;

beforeEach(() => {
  ({ anna, project, copy } = pushes.given());
});

/** The commands of a push and a pack without objects; answers git's report. */
async function sendPush(commands: readonly string[]): Promise<string> {
  const head = Buffer.from("PACK\0\0\0\x02\0\0\0\0", "latin1");
  const pack = Buffer.concat([head, createHash("sha1").update(head).digest()]);
  const url = new URL(`${app.remote(project)}/git-receive-pack`);
  const basic = Buffer.from(`${anna.alias}:${anna.token}`).toString("base64");
  const answer = await fetch(url, {
    method: "POST",
    headers: {
      authorization: `Basic ${basic}`,
      "content-type": "application/x-git-receive-pack-request",
    },
    body: Buffer.concat([...commands.map((line) => packet(line)), flushPacket, pack]),
  });
  expect(answer.status).to.equal(200);
  return answer.text();
}

describe("a push", () => {
  it("becomes one event a ref, by its pusher, and is visible when git gets its answer", async () => {
    const id = await commit(copy, "One", { "a.txt": "a\n" });
    await git(copy, "tag", "-a", "v1", "-m", "Version 1");
    await git(copy, "push", "--quiet", "origin", "main", "v1");

    const rows = await app.db("git_ref").where({ project_id: project.id }).orderBy("ref");
    expect(rows.map(({ ref, commit_id }) => [ref, commit_id])).to.deep.equal([
      ["refs/heads/main", id],
      ["refs/tags/v1", id],
    ]);
    expect(await recordedChanges()).to.deep.equal(["BranchCreated main", "TagCreated v1"]);
    for await (const event of app.store.readStream(repositoryStream(project.id))) {
      expect(event.data["changedById"]).to.equal(anna.id);
      expect(event.metadata.actor).to.include({ alias: "anna", via: "token" });
      expect(await app.vault.open(event.metadata.ip!)).to.match(/127\.0\.0\.1$/);
    }
    expect(await app.db("push_intent").where({ project_id: project.id })).to.deep.equal([]);
  });

  it("may create, move, force and delete branches and tags", async () => {
    await commit(copy, "One", { "a.txt": "a\n" });
    await git(copy, "push", "--quiet", "origin", "main", "main:dev");
    await commit(copy, "Two");
    await git(copy, "tag", "light");
    await git(copy, "push", "--quiet", "origin", "main", "light");
    await git(copy, "commit", "--quiet", "--amend", "--allow-empty", "-m", "Other");
    await git(copy, "push", "--quiet", "--force", "origin", "main");
    await git(copy, "tag", "--force", "light");
    await git(copy, "push", "--quiet", "--force", "origin", "light");
    await git(copy, "push", "--quiet", "origin", ":dev", ":light");

    expect(await recordedChanges()).to.deep.equal([
      "BranchCreated dev",
      "BranchCreated main",
      "BranchUpdated main",
      "TagCreated light",
      "BranchUpdated main forced",
      "TagUpdated light",
      "BranchDeleted dev",
      "TagDeleted light",
    ]);
  });

  it("of nothing new, or one that git refuses, records nothing", async () => {
    await commit(copy, "One");
    await git(copy, "push", "--quiet", "origin", "main");
    await git(copy, "push", "--quiet", "origin", "main");
    const refused = await tryGit(copy, ["push", "origin", ":main"]);

    expect(refused.exitCode).to.equal(1);
    expect(refused.stderr).to.contain("deletion of the current branch prohibited");
    expect(await recordedChanges()).to.deep.equal(["BranchCreated main"]);
    expect(await app.db("push_intent").where({ project_id: project.id })).to.deep.equal([]);
  });

  it("takes what is fine and refuses the rest, each ref for itself", async () => {
    await commit(copy, "One");
    await git(copy, "push", "--quiet", "origin", "main");
    await commit(copy, "Two");
    const { exitCode } = await tryGit(copy, ["push", "origin", "main:dev", ":main"]);

    expect(exitCode).to.equal(1);
    expect(await recordedChanges()).to.deep.equal(["BranchCreated main", "BranchCreated dev"]);
  });

  for (const atomic of [false, true]) {
    it(`repeated after the first took effect is no failure${atomic ? ", also atomic" : ""}`, async () => {
      const before = await commit(copy, "Base");
      await git(copy, "push", "--quiet", "origin", "main");
      const id = await commit(copy, "Next");
      await git(copy, "push", "--quiet", "origin", "main", "main:dev");
      // The request of a client that saw the refs before the first push came to an end.
      const none = "0".repeat(40);
      const wish = (from: string, to: string, ref: string) => `${from} ${to} refs/heads/${ref}`;
      const capabilities = `\0report-status${atomic ? " atomic" : ""}`;
      const push = (...wishes: string[]) =>
        sendPush(wishes.map((line, index) => line + (index === 0 ? capabilities : "")));

      const repeated = await push(wish(before, id, "main"), wish(none, id, "dev"));
      expect(repeated).to.contain("ok refs/heads/main").and.contain("ok refs/heads/dev");
      const other = await push(wish(before, id, "main"), wish(none, before, "dev"));
      expect(other).to.contain("ng refs/heads/dev");
      expect(other).to.contain(`${atomic ? "ng" : "ok"} refs/heads/main`);
      expect(await recordedChanges()).to.have.length(3);
    });
  }

  it("under another name than the default makes that branch the default", async () => {
    await git(copy, "checkout", "--quiet", "-b", "trunk");
    await commit(copy, "One");
    await git(copy, "push", "--quiet", "origin", "trunk");

    const answer = await app.get(project.path, anna.token);
    expect(await answer.json()).to.include({ defaultBranch: "trunk" });
    const clone = `${copy}-clone`;
    await git(parent, "clone", "--quiet", app.remote(project, anna), clone);
    expect(await git(clone, "branch", "--show-current")).to.equal("trunk");
  });

  it("is refused each ref that may not be pushed, with a reason, and the rest goes on", async () => {
    await commit(copy, "One");
    const refused = [
      ["refs/merge-request/1/head", "only branches, tags and notes can be pushed"],
      ["refs/replace/x", "only branches, tags and notes can be pushed"],
      ["refs/heads/HEAD", "not a name"],
      [`refs/tags/${"a".repeat(40)}`, "not a name"],
      [`refs/heads/${"A0".repeat(32)}`, "not a name"],
    ] as const;
    const refspecs = refused.map(([ref]) => `HEAD:${ref}`);
    const { exitCode, stderr } = await tryGit(copy, ["push", "origin", ...refspecs, "main"]);

    expect(exitCode).not.to.equal(0);
    const lines = stderr.split("\n");
    for (const [ref, reason] of refused) {
      const short = ref.replace(/^refs\/(?:heads|tags)\//, "");
      const line = lines.find(
        (each) => each.includes(`-> ${short} `) || each.includes(`-> ${ref} `),
      );
      expect(line, `${ref}: ${stderr}`).to.contain(`(${reason}`);
    }
    expect(stderr).to.contain("[new branch]");
    expect(await recordedChanges()).to.deep.equal(["BranchCreated main"]);
  });

  it("to one ref that is not taken is refused as a whole when it is atomic", async () => {
    await commit(copy, "One");
    const args = ["push", "--atomic", "origin", "HEAD:refs/pull/1/head", "main"];
    const { exitCode, stderr } = await tryGit(copy, args);

    expect(exitCode).to.equal(1);
    expect(stderr).to.contain("(atomic push failed)");
    expect(await recordedChanges()).to.deep.equal([]);
  });

  it("with a broken object is refused, and nothing of it stays", async () => {
    await commit(copy, "One");
    const tree = await git(copy, "rev-parse", "HEAD^{tree}");
    const person = "A <a@b> 1 +0000";
    const text = `tree ${tree}\nauthor ${person}\nauthor ${person}\ncommitter ${person}\n\nx\n`;
    await writeFile(`${parent}/broken`, text);
    const id = await git(
      copy,
      "hash-object",
      "--literally",
      "-t",
      "commit",
      "-w",
      `${parent}/broken`,
    );
    await git(copy, "update-ref", "refs/heads/broken", id);
    const { exitCode, stderr } = await tryGit(copy, ["push", "origin", "broken"]);

    expect(exitCode).to.equal(1);
    expect(stderr).to.contain("multipleAuthors");
    expect(await recordedChanges()).to.deep.equal([]);
  });
});
