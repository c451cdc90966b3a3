import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { expect } from "chai";

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

describe("a push", () => {
  it("of two to the same ref at once lets one win and reports the truth about both", async () => {
    await commit(copy, "Base");
    await git(copy, "push", "--quiet", "origin", "main");
    const others = await Promise.all(
      ["one", "two", "three"].map(async (name) => {
        const other = `${copy}-${name}`;
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

  it("of large files in a chunked body comes in whole", async () => {
    await commit(copy, "Large", { "large.bin": randomBytes(6 * 1024 ** 2) });
    await git(copy, "-c", "http.postBuffer=65536", "push", "--quiet", "origin", "main");
    const clone = `${copy}-clone`;
    await git(parent, "clone", "--quiet", app.remote(project, anna), clone);

    expect(await git(clone, "rev-parse", "HEAD:large.bin")).to.equal(
      await git(copy, "rev-parse", "HEAD:large.bin"),
    );
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
    const clone = `${copy}-notes`;
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
});
