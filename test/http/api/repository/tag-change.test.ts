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
const newWorld = await refWorlds(app);
let people: People;
let world: RefWorld;

/** For tests that count what is recorded, or move `main`; the others share what the last one left. */
const fresh = async () => {
  world = await newWorld(people);
};
before(async () => {
  people = await givenPeople(app);
  await fresh();
});

const create = (body: object, user = people.bob) => world.post(user, "/tag/create", body);
const remove = (name: string, user = people.bob) =>
  world.delete(user, `/tag/${encodeURIComponent(name)}`);
const object = (...args: string[]) => git(world.gitDir, "--git-dir=.", ...args);

describe("POST …/tag/create", () => {
  it("makes a lightweight tag on a branch", async () => {
    const { status, body, text } = await create({ tagName: "v1", branchName: "main" });

    expect(status, text).to.equal(200);
    expect(body).to.deep.include({
      name: "v1",
      fullName: "refs/tags/v1",
      objectId: world.head,
      commitId: world.head,
      shortMessage: "First",
      fullMessage: "",
      lightWeight: true,
    });
    expect(await object("cat-file", "-t", "v1")).to.equal("commit");
    expect((await world.recordedChanges()).at(-1)).to.equal("TagCreated v1 by bob");
  });

  it("takes the default branch when nothing is named, and the shorter path too", async () => {
    const { status, body } = await world.post(people.bob, "/tag", { tagName: "v0", message: " " });
    expect([status, body["lightWeight"], body["commitId"]]).to.deep.equal([200, true, world.head]);
  });

  it("makes an annotated tag on a commit, by the requesting account", async () => {
    await commit(world.copy, "Second");
    await git(world.copy, "push", "--quiet", "origin", "main");
    await app.put("/user/profile", {
      token: people.bob.token,
      body: { name: "Bob <evil>\n", surname: "Builder" },
    });
    const message = "Version 2\r\n\r\nIt is – good.  \n\n\n";
    const { body, text } = await create({
      tagName: "rel/2.0 ü".replace(" ", "-"),
      commitId: world.head,
      message,
    });

    expect(body, text).to.include({
      name: "rel/2.0-ü",
      commitId: world.head,
      shortMessage: "Version 2",
      fullMessage: "Version 2\n\nIt is – good.\n",
      lightWeight: false,
    });
    expect(body["objectId"]).not.to.equal(world.head);
    expect(body["personIdent"]).to.deep.include({ emailAddress: "bob@example.org" });
    const raw = await object("cat-file", "tag", "rel/2.0-ü");
    expect(raw).to.match(/^tagger Bob evil Builder <bob@example\.org> \d+ \+0000$/m);
    expect(raw).to.contain("tag rel/2.0-ü\n").and.to.contain(`object ${world.head}\n`);
    await object("fsck", "--strict", "--no-dangling");
    const read = await app.get(world.at(`/tag/${encodeURIComponent("rel/2.0-ü")}`), people.carl);
    expect(read.body).to.deep.equal(body);
  });

  it("wants a commit that the named branch contains", async () => {
    await git(world.copy, "checkout", "--quiet", "-b", "side");
    const aside = await commit(world.copy, "Aside");
    await git(world.copy, "push", "--quiet", "origin", "side");
    const wrong = await create({ tagName: "v3", branchName: "main", commitId: aside });
    expect(wrong.body).to.include({ status: 422, code: "tag.commit_not_on_branch" });
    const right = await create({ tagName: "v3", branchName: "side", commitId: aside });
    expect(right.body).to.include({ commitId: aside });
  });

  it("answers 404 for branches and commits that are not there", async () => {
    const recorded = await world.recordedChanges();
    for (const branchName of ["none", "-x", "v0", "refs/heads/main"]) {
      const { body } = await create({ tagName: "v5", branchName });
      expect(body).to.include({ status: 404, code: "branch.not_found" });
    }
    const tree = await git(world.copy, "rev-parse", "HEAD^{tree}");
    for (const commitId of ["0".repeat(40), world.head.slice(0, 6), "main~0", "--all", tree]) {
      const { body } = await create({ tagName: "v5", commitId });
      expect(body, commitId).to.include({ status: 404, code: "commit.not_found" });
    }
    expect(await world.recordedChanges()).to.deep.equal(recorded);
  });

  it("answers 409 for a name that is taken, or inside or around one that is", async () => {
    await create({ tagName: "a/b" });
    const again = await create({ tagName: "a/b", message: "Another" });
    expect(again.body).to.include({ status: 422, code: "tag.exists" });
    for (const tagName of ["a", "a/b/c"]) {
      expect((await create({ tagName })).body).to.include({
        status: 422,
        code: "ref.name_conflict",
      });
    }
    expect((await create({ tagName: "main" })).status, "a branch is in nobody's way").to.equal(200);
  });

  it("answers 422 for what git would not take as a tag, and for too long a message", async () => {
    for (const tagName of ["", "-d", "a..b", "a b", "a.lock", "refs//x", "@{", "a/.b", "a\u007f"]) {
      const { status, body } = await create({ tagName });
      expect(status, tagName).to.equal(422);
      expect(body["message"], tagName).to.match(/[^.]\.$/);
    }
    const message = "x".repeat(64 * 1024 + 1);
    expect((await create({ tagName: "v6", message })).status).to.equal(422);
  });

  it("is refused to a reporter, and to whom a rule forbids it, annotated or not", async () => {
    await fresh();
    expect((await create({ tagName: "v1" }, people.carl)).body).to.include({ status: 403 });
    await world.post(people.anna, "/tag-protection/create", {
      tagTemplate: "v*",
      allowToCreate: "ADMINS",
    });
    for (const message of ["", "Annotated"]) {
      const { body } = await create({ tagName: "v1", message });
      expect(body).to.include({ status: 403, code: "tag.protected" });
    }
    expect((await create({ tagName: "w1" })).status).to.equal(200);
    expect((await create({ tagName: "v1" }, people.anna)).status).to.equal(200);
    expect((await remove("v1")).body).to.include({ status: 403, code: "tag.protected" });
    expect((await remove("v1", people.anna)).status).to.equal(200);
  });
});

describe("DELETE …/tag/{tagName}", () => {
  it("deletes it in the caller's name, and its name is free again", async () => {
    await fresh();
    for (const message of ["", "Annotated"]) {
      await create({ tagName: "ü/1", message });
      expect((await remove("ü/1")).status).to.equal(200);
    }
    expect([...(await world.refs()).keys()]).to.deep.equal(["refs/heads/main"]);
    expect((await world.recordedChanges()).slice(1)).to.deep.equal([
      "TagCreated ü/1 by bob",
      "TagDeleted ü/1 by bob",
      "TagCreated ü/1 by bob",
      "TagDeleted ü/1 by bob",
    ]);
  });

  it("answers 404 for what is not there, 403 to a reporter", async () => {
    await create({ tagName: "v1" });
    for (const name of ["none", "refs/tags/v1", "-d", "main"]) {
      expect((await remove(name)).body, name).to.include({ status: 404, code: "tag.not_found" });
    }
    expect((await remove("v1", people.carl)).body).to.include({ status: 403 });
  });
});
