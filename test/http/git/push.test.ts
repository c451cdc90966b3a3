import { createHash, randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { expect } from "chai";

import { repositoryStream } from "../../../src/events/repository/repository.ts";
import { flushPacket, packet } from "../../../src/platform/git/pkt-line.ts";
import { startGitApp, type TestProject, type TestUser } from "../../support/app/git-app.ts";
import { commit, git, temporaryDirectory, tryGit, workingCopy } from "../../support/git/git.ts";

const app = await startGitApp();
const parent = await temporaryDirectory();
let anna: TestUser;
let project: TestProject;
let copy: string;
let count = 0;

before(async () => {
  anna = await app.user("anna");
});

beforeEach(async () => {
  count += 1;
  project = await app.project(anna, `project-${count}`);
  copy = await workingCopy(parent, `copy-${count}`);
  await git(copy, "remote", "add", "origin", app.remote(project, anna));
});

/** What the log records of the project's repository: `BranchCreated main`. */
async function recordedChanges(): Promise<readonly string[]> {
  const changes: string[] = [];
  for await (const { type, data } of app.store.readStream(repositoryStream(project.id))) {
    changes.push(
      `${type} ${data["branch"] ?? data["tag"] ?? data["notes"]}${data["forced"] === true ? " forced" : ""}`,
    );
  }
  return changes;
}

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

  it("of two to the same ref at once lets one win and reports the truth about both", async () => {
    await commit(copy, "Base");
    await git(copy, "push", "--quiet", "origin", "main");
    const others = await Promise.all(
      ["one", "two", "three"].map(async (name) => {
        const other = `${parent}/${name}-${count}`;
        await git(parent, "clone", "--quiet", app.remote(project, anna), other);
        return { other, id: await commit(other, name) };
      }),
    );
    const ended = await Promise.all(
      others.map(({ other }) => tryGit(other, ["push", "origin", "main"])),
    );

    expect(ended.filter(({ exitCode }) => exitCode === 0)).to.have.length(1);
    expect(await recordedChanges()).to.deep.equal(["BranchCreated main", "BranchUpdated main"]);
    const winner = others[ended.findIndex(({ exitCode }) => exitCode === 0)]!;
    const [row] = await app.db("git_ref").where({ project_id: project.id });
    expect(row.commit_id).to.equal(winner.id);
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

  it("many at once, each to its own branch, are each recorded once", async () => {
    await commit(copy, "Base");
    await git(copy, "push", "--quiet", "origin", "main");
    const branches = Array.from({ length: 6 }, (_, index) => `b${index}`);
    await Promise.all(
      branches.map((branch) => git(copy, "push", "--quiet", "origin", `main:${branch}`)),
    );

    expect([...(await recordedChanges())].sort()).to.deep.equal(
      ["BranchCreated main", ...branches.map((branch) => `BranchCreated ${branch}`)].sort(),
    );
  });

  it("of many refs is recorded in several appends", async () => {
    await commit(copy, "Base");
    const names = Array.from({ length: 900 }, (_, index) => `t${String(index).padStart(4, "0")}`);
    const id = await git(copy, "rev-parse", "HEAD");
    const packed = names.map((name) => `${id} refs/tags/${name}`).join("\n");
    await writeFile(
      `${copy}/.git/packed-refs`,
      `# pack-refs with: peeled fully-peeled sorted\n${packed}\n`,
    );
    await git(copy, "push", "--quiet", "origin", "main", "--tags");

    expect(await recordedChanges()).to.have.length(901);
    expect(new Set(await recordedChanges()).size).to.equal(901);
  });

  it("under another name than the default makes that branch the default", async () => {
    await git(copy, "checkout", "--quiet", "-b", "trunk");
    await commit(copy, "One");
    await git(copy, "push", "--quiet", "origin", "trunk");

    const answer = await app.get(project.path, anna.token);
    expect(await answer.json()).to.include({ defaultBranch: "trunk" });
    const clone = `${parent}/clone-${count}`;
    await git(parent, "clone", "--quiet", app.remote(project, anna), clone);
    expect(await git(clone, "branch", "--show-current")).to.equal("trunk");
  });

  it("of large files in a chunked body comes in whole", async () => {
    await commit(copy, "Large", { "large.bin": randomBytes(6 * 1024 ** 2) });
    await git(copy, "-c", "http.postBuffer=65536", "push", "--quiet", "origin", "main");
    const clone = `${parent}/clone-${count}`;
    await git(parent, "clone", "--quiet", app.remote(project, anna), clone);

    expect(await git(clone, "rev-parse", "HEAD:large.bin")).to.equal(
      await git(copy, "rev-parse", "HEAD:large.bin"),
    );
  });

  for (const [ref, reason] of [
    ["refs/merge-request/1/head", "only branches, tags and notes can be pushed"],
    ["refs/replace/x", "only branches, tags and notes can be pushed"],
    ["refs/heads/HEAD", "not a name"],
    [`refs/tags/${"a".repeat(40)}`, "not a name"],
    [`refs/heads/${"A0".repeat(32)}`, "not a name"],
  ] as const) {
    it(`to ${ref} is refused with a reason, and the rest goes on`, async () => {
      await commit(copy, "One");
      const refspecs = [`HEAD:${ref}`, "main"];
      const { exitCode, stderr } = await tryGit(copy, ["push", "origin", ...refspecs]);

      expect(exitCode).not.to.equal(0);
      expect(stderr).to.contain(`(${reason}`).and.to.contain("[new branch]");
      expect(await recordedChanges()).to.deep.equal(["BranchCreated main"]);
    });
  }

  it("to one ref that is not taken is refused as a whole when it is atomic", async () => {
    await commit(copy, "One");
    const args = ["push", "--atomic", "origin", "HEAD:refs/pull/1/head", "main"];
    const { exitCode, stderr } = await tryGit(copy, args);

    expect(exitCode).to.equal(1);
    expect(stderr).to.contain("(atomic push failed)");
    expect(await recordedChanges()).to.deep.equal([]);
  });

  it("of a mirror takes branches, tags and notes and leaves out the rest", async () => {
    await commit(copy, "One");
    await git(copy, "tag", "v1");
    await git(copy, "notes", "add", "-m", "Reviewed", "HEAD");
    for (const ref of ["refs/pull/1/head", "refs/pull/1/merge", "refs/keep-around/x"]) {
      await git(copy, "update-ref", ref, "HEAD");
    }
    const { stderr } = await tryGit(copy, ["push", "--mirror", "origin"]);

    expect(stderr.match(/remote rejected/g)).to.have.length(3);
    expect(await recordedChanges()).to.deep.equal([
      "BranchCreated main",
      "NotesChanged commits",
      "TagCreated v1",
    ]);
  });

  it("of notes is fetched again, moved and deleted", async () => {
    await commit(copy, "One");
    await git(copy, "notes", "add", "-m", "Reviewed", "HEAD");
    await git(copy, "push", "--quiet", "origin", "main", "refs/notes/*");
    const clone = `${parent}/notes-${count}`;
    await git(parent, "clone", "--quiet", app.remote(project, anna), clone);
    await git(clone, "fetch", "--quiet", "origin", "refs/notes/*:refs/notes/*");
    expect(await git(clone, "notes", "show", "HEAD")).to.equal("Reviewed");

    await git(clone, "notes", "append", "-m", "Twice", "HEAD");
    await git(clone, "push", "--quiet", "origin", "refs/notes/commits");
    const row = { project_id: project.id, kind: "notes", name: "commits" };
    const head = await git(clone, "rev-parse", "refs/notes/commits");
    expect(await app.db("git_ref").where(row).first()).to.include({ object_id: head });
    await git(clone, "push", "--quiet", "origin", ":refs/notes/commits");
    expect(await app.db("git_ref").where(row)).to.deep.equal([]);
    expect(await recordedChanges()).to.deep.equal([
      "BranchCreated main",
      ...["NotesChanged commits", "NotesChanged commits", "NotesChanged commits"],
    ]);
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
