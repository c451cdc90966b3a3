import { expect } from "chai";

import { startTestApp } from "../../../support/app/app.ts";
import { commit, git } from "../../../support/git/git.ts";
import {
  givenPeople,
  type People,
  type RefWorld,
  refWorlds,
} from "../../../support/git/ref-world.ts";

const app = await startTestApp();
/** On branch `side`, which left main after the first commit. */
let side: string;
const newWorld = await refWorlds(app, async (copy) => {
  await git(copy, "checkout", "--quiet", "-b", "side");
  side = await commit(copy, "Side\n\nwork\n", { "side.txt": "side\n", "dir/x": "x\n" });
  await git(copy, "checkout", "--quiet", "main");
  await commit(copy, "Main", { "main.txt": "main\n" });
});
let people: People;
let world: RefWorld;

before(async () => {
  people = await givenPeople(app);
});
beforeEach(async () => {
  world = await newWorld(people);
});

const local = (...args: string[]) => git(world.copy, ...args);
const push = () => local("push", "--quiet", "--all", "origin");
const pick = (hash: string, branchName = "main", user = people.bob) =>
  world.post(user, `/commit/${hash}/cherry-pick`, { branchName });
const revert = (hash: string, branchName = "main", user = people.bob) =>
  world.post(user, `/commit/${hash}/revert`, { branchName });
const bare = (...args: string[]) => git(world.gitDir, "--git-dir=.", ...args);
const files = async (ref = "main") => (await bare("ls-tree", "-r", "--name-only", ref)).split("\n");

describe("POST …/commit/{hash}/cherry-pick", () => {
  it("does the same on another branch, in its author's name and time", async () => {
    const [head, authored] = [
      await local("rev-parse", "main"),
      await local("log", "-1", "--format=%an %ae %ad", side),
    ];

    const { status, body, text } = await pick(side);

    expect(status, text).to.equal(200);
    expect(body).to.deep.include({
      message: `Side\n\nwork\n\n(cherry picked from commit ${side})\n`,
      parentCommitIds: [head],
    });
    expect(body["authorIdent"]).to.deep.include({ emailAddress: "anna@example.test" });
    expect(body["committerIdent"]).to.deep.include({
      name: "bob",
      emailAddress: "bob@example.org",
    });
    expect(await bare("log", "-1", "--format=%an %ae %ad", "main")).to.equal(authored);
    expect(await files()).to.deep.equal(["a.txt", "dir/x", "main.txt", "side.txt"]);
    expect((await world.recordedChanges()).at(-1)).to.equal("BranchUpdated main by bob");
    await bare("fsck", "--strict", "--no-dangling");
  });

  it("follows a file that was renamed on the branch", async () => {
    const text = Array.from({ length: 20 }, (_, index) => `line ${index}\n`).join("");
    await commit(world.copy, "Long", { "long.txt": text });
    await local("checkout", "--quiet", "-B", "side");
    const change = await commit(world.copy, "Change", {
      "long.txt": text.replace("line 3", "LINE 3"),
    });
    await local("checkout", "--quiet", "main");
    await local("mv", "long.txt", "renamed.txt");
    await commit(world.copy, "Rename");
    await local("push", "--quiet", "--force", "--all", "origin");
    expect((await pick(change)).status).to.equal(200);
    expect(await bare("show", "main:renamed.txt")).to.contain("LINE 3");
  });

  it("answers 409 with the files in conflict, and changes nothing", async () => {
    await commit(world.copy, "Other", { "side.txt": "other\n", "dir/x": "y\n" });
    await push();
    const before = await world.refs();
    const { body } = await pick(side);
    expect(body).to.deep.include({
      status: 409,
      code: "commit.conflict",
      files: ["dir/x", "side.txt"],
    });
    expect([...(await world.refs())]).to.deep.equal([...before]);
  });

  it("answers 422 when the branch has it already", async () => {
    expect((await pick(side, "side")).body).to.include({ status: 422, code: "commit.empty" });
    await pick(side);
    expect((await pick(side)).body).to.include({ status: 422, code: "commit.empty" });
  });

  it("takes a merge as what it brought to the branch it was made on, and a root as all it has", async () => {
    await local("checkout", "--quiet", "--orphan", "island");
    await local("rm", "-rfq", ".");
    const root = await commit(world.copy, "Root", { "root.txt": "root\n" });
    await local("checkout", "--quiet", "main");
    await local("merge", "--quiet", "--no-ff", "-m", "Merge side", "side");
    const merge = await local("rev-parse", "HEAD");
    await push();

    expect((await pick(merge, "island")).status).to.equal(200);
    expect(await files("island")).to.deep.equal(["dir/x", "root.txt", "side.txt"]);
    expect((await pick(root, "main")).status).to.equal(200);
    expect(await files("main")).to.contain("root.txt");
  });

  it("goes by the rules, the role and what is there", async () => {
    expect((await pick(side, "main", people.carl)).body).to.include({ status: 403 });
    for (const hash of ["0".repeat(40), side.slice(0, 6), "none", "--all"]) {
      expect((await pick(hash)).body, hash).to.include({ status: 404, code: "commit.not_found" });
    }
    for (const name of ["none", "-x", "refs/heads/main", side]) {
      expect((await pick(side, name)).body).to.include({ status: 404, code: "branch.not_found" });
    }
    const rule = { branchTemplate: "main", allowedToPush: "ADMINS" };
    await world.post(people.anna, "/branch-protection/create", rule);
    expect((await pick(side)).body).to.include({ status: 403, code: "branch.protected" });
    expect((await revert(side)).body).to.include({ status: 403, code: "branch.protected" });
    expect((await pick(side, "main", people.anna)).status).to.equal(200);
  });
});

describe("POST …/commit/{hash}/revert", () => {
  it("undoes it, in the caller's name", async () => {
    await local("checkout", "--quiet", "side");
    const later = await commit(world.copy, "Later", { "later.txt": "later\n" });
    await push();

    const { status, body, text } = await revert(side, "side");

    expect(status, text).to.equal(200);
    expect(body).to.deep.include({
      message: `Revert "Side"\n\nThis reverts commit ${side}.\n`,
      parentCommitIds: [later],
    });
    expect(body["authorIdent"]).to.deep.include({ emailAddress: "bob@example.org" });
    expect(await files("side")).to.deep.equal(["a.txt", "later.txt"]);
    const again = await revert(String(body["hash"]), "side");
    expect(again.body["shortMessage"]).to.equal('Revert "Revert "Side""');
    expect(await files("side")).to.contain("side.txt");
  });

  it("begins a branch for it, and only a new one", async () => {
    const at = await local("rev-parse", "side");
    const body = { branchName: "undo", startBranch: "side" };
    const undo = (over = {}) =>
      world.post(people.bob, `/commit/${side}/revert`, { ...body, ...over });
    const made = await undo();
    expect(made.status, made.text).to.equal(200);
    expect(made.body["parentCommitIds"]).to.deep.equal([at]);
    expect(await files("undo")).to.deep.equal(["a.txt"]);
    expect((await world.recordedChanges()).at(-1)).to.equal("BranchCreated undo by bob");
    expect((await undo()).body).to.include({ status: 422, code: "branch.exists" });
    expect((await undo({ branchName: "-x" })).body).to.include({ status: 422 });
    expect((await undo({ branchName: "other", startBranch: "none" })).status).to.equal(404);
  });

  it("leaves a whole repository where nothing remains", async () => {
    const root = await local("rev-list", "--max-parents=0", "side");
    await local("push", "--quiet", "--force", "origin", `${root}:refs/heads/side`);
    expect((await revert(root, "side")).status).to.equal(200);
    expect(await files("side")).to.deep.equal([""]);
    await bare("fsck", "--full", "--strict", "--no-dangling");
  });

  it("undoes a merge as a whole", async () => {
    await local("merge", "--quiet", "--no-ff", "-m", "Merge side", "side");
    await push();
    const merge = await local("rev-parse", "HEAD");
    const { body } = await revert(merge);
    expect(body["message"]).to.contain(`This reverts commit ${merge}, reversing\nchanges made to `);
    expect(await files()).to.deep.equal(["a.txt", "main.txt"]);
  });

  it("answers 409 with the files when they changed since, 422 when there is nothing to undo", async () => {
    await local("checkout", "--quiet", "side");
    await commit(world.copy, "Later", { "side.txt": "later\n" });
    await push();
    const conflict = await revert(side, "side");
    expect(conflict.body).to.deep.include({
      status: 409,
      code: "commit.conflict",
      files: ["side.txt"],
    });
    expect((await revert(side)).body).to.include({ status: 422, code: "commit.empty" });
  });
});
