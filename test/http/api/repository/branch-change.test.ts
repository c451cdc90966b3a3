import { randomUUID } from "node:crypto";
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

const create = (newBranch: unknown, originBranch?: unknown, user = people.bob) =>
  world.post(user, "/branch", { newBranch, originBranch });
const remove = (name: string, user = people.bob) =>
  world.delete(user, `/branch?branchName=${encodeURIComponent(name)}`);

describe("POST …/branch", () => {
  it("makes a branch where the other stands, in the caller's name, and shows it", async () => {
    const { status, body, text } = await create("feature/ünï", "main");

    expect(status, text).to.equal(200);
    expect(body).to.deep.include({
      name: "feature/ünï",
      fullName: "refs/heads/feature/ünï",
      default: false,
      merged: true,
    });
    expect(body["lastCommit"]).to.include({ hash: world.head });
    expect((await world.refs()).get("refs/heads/feature/ünï")).to.equal(world.head);
    expect(await world.recordedChanges()).to.deep.equal([
      "BranchCreated main by anna",
      "BranchCreated feature/ünï by bob",
    ]);
    expect(await git(world.copy, "ls-remote", "origin", "refs/heads/feature/ünï")).to.contain(
      world.head,
    );
  });

  it("begins at the default branch when no other is named", async () => {
    expect((await create("dev")).status).to.equal(200);
    expect((await create("dev2", "")).status).to.equal(200);
  });

  it("is refused to a reporter, and to a token that may only read", async () => {
    expect((await create("dev", "main", people.carl)).body).to.include({
      status: 403,
      code: "auth.role_missing",
    });
    const token = await app.givenToken(people.bob.id, ["PROJECT_READ", "PROJECT_EDIT"]);
    const body = { newBranch: "dev", originBranch: "main" };
    const answer = await app.post(world.at("/branch"), { token, body });
    expect(answer.body).to.include({ status: 403, code: "auth.scope_missing" });
  });

  it("answers 404 for an origin that is not there", async () => {
    for (const origin of ["none", "-x", "refs/heads/none", "heads/main", "0".repeat(40), "main^"]) {
      const { body } = await create("dev", origin);
      expect(body, origin).to.include({ status: 404, code: "branch.not_found" });
    }
  });

  it("answers 404 for a commit that was read before and has been collected since", async () => {
    await create("work");
    const actions = [{ action: "CREATE", path: "w.txt", content: "w" }];
    const { body } = await world.post(people.bob, "/commit", {
      ...{ branch: "work", message: "w", actions },
    });
    await remove("work");
    await git(world.gitDir, "--git-dir=.", "reflog", "expire", "--expire=now", "--all");
    await git(world.gitDir, "--git-dir=.", "gc", "--quiet", "--prune=now");
    const answer = await create("work", body["hash"]);
    expect(answer.body).to.include({ status: 404, code: "commit.gone" });
    expect((await world.refs()).has("refs/heads/work")).to.equal(false);
  });

  it("answers 422 for a name that is taken, or inside or around one that is", async () => {
    await fresh();
    await create("a/b");
    expect((await create("a/b")).body).to.include({ status: 422, code: "branch.exists" });
    for (const name of ["a", "a/b/c", "main/x"]) {
      expect((await create(name)).body, name).to.include({
        status: 422,
        code: "ref.name_conflict",
      });
    }
    expect((await create("a/c")).status).to.equal(200);
    expect(await world.recordedChanges()).to.have.length(3);
  });

  it("answers 422 for what git would not take as a branch", async () => {
    const head = await app.head();
    const wrong = [
      ...["", " ", "-x", "--all", "a..b", "a b", "a~1", "a^", "a:b", "a?", "a*", "a[", "a\\b"],
      ...[
        "/a",
        "a/",
        "a//b",
        ".a",
        "a/.b",
        "a.lock",
        "a.lock/b",
        "a.",
        "a@{1}",
        "HEAD",
        "a\tb",
        "0".repeat(40),
      ],
      ...["a\u0001", "a\nb", "../x", "x".repeat(300), null, 5, {}],
    ];
    for (const name of wrong) {
      const { status, body } = await create(name);
      expect(status, JSON.stringify(name)).to.equal(422);
      expect(body["errors"]).to.be.an("array").with.length(1);
      if (name === "" || name === " ") {
        expect((body["errors"] as object[])[0]).to.include({ code: "error.field.empty" });
      }
    }
    expect(await app.head()).to.equal(head);
  });

  it("follows the rules of the project", async () => {
    await world.post(people.anna, "/branch-protection/create", {
      branchTemplate: "release/*",
      allowedToPush: "ADMINS",
    });
    const recorded = await world.recordedChanges();
    const refused = await create("release/1");
    expect(refused.body).to.include({ status: 403, code: "branch.protected" });
    expect(await world.recordedChanges()).to.deep.equal(recorded);
    expect((await create("release/1", "main", people.anna)).status).to.equal(200);
  });

  it("has nothing to begin with in a project nobody has pushed to", async () => {
    const empty = await app.givenProject(people.anna, "empty");
    const body = { newBranch: "dev", originBranch: "main" };
    const at = `/project/anna/${empty.alias}/branch`;
    const answer = await app.post(at, { token: people.anna.token, body });
    expect(answer.body).to.include({ status: 404, code: "branch.not_found" });
  });

  it("is done once under an Idempotency-Key, and by one of many at once", async () => {
    const { length } = await world.recordedChanges();
    const body = { newBranch: "once", originBranch: "main" };
    const key = randomUUID();
    const twice = await Promise.all([1, 2].map(() => world.post(people.bob, "/branch", body, key)));
    expect(twice.map(({ status }) => status)).to.deep.equal([200, 200]);
    const many = await Promise.all([1, 2, 3, 4, 5].map(() => create("race")));
    expect(many.map(({ status }) => status).sort()).to.deep.equal([200, 422, 422, 422, 422]);
    expect((await world.recordedChanges()).slice(length)).to.deep.equal([
      "BranchCreated once by bob",
      "BranchCreated race by bob",
    ]);
    expect(await app.platform.db("push_intent").select()).to.deep.equal([]);
  });
});

describe("DELETE …/branch", () => {
  it("deletes it, whatever it holds, in the caller's name", async () => {
    await fresh();
    await git(world.copy, "checkout", "--quiet", "-b", "ä/b");
    await commit(world.copy, "Unmerged");
    await git(world.copy, "push", "--quiet", "origin", "ä/b");

    expect((await remove("ä/b")).status).to.equal(200);

    expect([...(await world.refs()).keys()]).to.deep.equal(["refs/heads/main"]);
    expect((await world.recordedChanges()).at(-1)).to.equal("BranchDeleted ä/b by bob");
    const gone = await app.get(world.at("/branch?branchName=%C3%A4/b"), people.bob);
    expect(gone.status).to.equal(404);
    expect((await remove("ä/b")).body).to.include({ status: 404, code: "branch.not_found" });
  });

  it("is refused for the default branch and for a protected one, to everybody", async () => {
    await create("stable");
    const recorded = await world.recordedChanges();
    await world.post(people.anna, "/branch-protection/create", {
      branchTemplate: "stable",
      allowedToPush: "DEVELOPER",
    });
    for (const user of [people.anna, people.bob]) {
      expect((await remove("main", user)).body).to.include({ status: 422, code: "branch.default" });
      expect((await remove("stable", user)).body).to.include({
        status: 422,
        code: "branch.protected",
      });
    }
    expect(await world.recordedChanges()).to.deep.equal(recorded);
  });

  it("is refused to a reporter, and needs a name", async () => {
    await create("dev");
    expect((await remove("dev", people.carl)).body).to.include({ status: 403 });
    expect((await remove("", people.bob)).status).to.equal(422);
    expect((await world.delete(people.bob, "/branch")).status).to.equal(422);
    for (const name of ["refs/heads/dev", "-D", "HEAD", "none"]) {
      expect((await remove(name)).status, name).to.equal(404);
    }
  });

  it("answers 409 after a push to it in between, and shows what was pushed", async () => {
    await create("dev");
    const moved = await commit(world.copy, "Second");
    // Behind the service's back, as a process of another machine would between its push and its event.
    await git(world.copy, "push", "--quiet", world.gitDir, "HEAD:refs/heads/dev");

    expect((await remove("dev")).body).to.include({ status: 409, code: "branch.moved" });

    expect((await world.refs()).get("refs/heads/dev")).to.equal(moved);
    expect((await world.recordedChanges()).at(-1)).to.equal("BranchUpdated dev by the system");
    expect((await remove("dev")).status).to.equal(200);
  });
});
