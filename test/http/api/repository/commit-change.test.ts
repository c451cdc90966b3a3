import { symlink } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import { startTestApp } from "../../../support/app/app.ts";
import {
  type Action,
  commitsTo,
  create,
  fieldErrors,
  move,
  remove,
  update,
} from "../../../support/git/commit-action.ts";
import { commit as commitLocally, git } from "../../../support/git/git.ts";
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

const { commit, bare, tree } = commitsTo(() => ({ world, people }));

describe("POST …/commit", () => {
  it("commits several files at once, by the requesting account, and shows it", async () => {
    await commitLocally(world.copy, "More", { "b.txt": "b\n", "dir/c.txt": "c\n", "d.txt": "d\n" });
    await git(world.copy, "push", "--quiet", "origin", "main");
    const parent = await git(world.copy, "rev-parse", "HEAD");
    await app.put("/user/profile", {
      token: people.bob.token,
      body: { name: "Bob", surname: "Builder" },
    });

    const { status, body, text } = await commit(
      [
        create('new/ünï "quoted"\n.txt'),
        update("a.txt", "changed\n"),
        remove("dir/c.txt"),
        move("b.txt", "dir/moved.txt"),
        move("d.txt", "e.txt", "other\n"),
      ],
      { message: "  \nDo it\r\n\r\nAll of it.  \n\n" },
    );

    expect(status, text).to.equal(200);
    expect(body).to.deep.include({
      message: "  \nDo it\n\nAll of it.\n".trimStart(),
      shortMessage: "Do it",
      parentCommitIds: [parent],
    });
    const ident = { name: "Bob Builder", emailAddress: "bob@example.org" };
    expect(body["authorIdent"]).to.deep.include(ident);
    expect(body["committerIdent"]).to.deep.include(ident);
    expect(body["user"]).to.include({ username: "bob" });
    expect(await tree()).to.deep.equal([
      "100644 a.txt",
      "100644 dir/moved.txt",
      "100644 e.txt",
      '100644 "new/ünï \\"quoted\\"\\n.txt"',
    ]);
    expect(await bare("show", "main:e.txt")).to.equal("other");
    await bare("fsck", "--full", "--strict", "--no-dangling");
    expect((await world.recordedChanges()).at(-1)).to.equal("BranchUpdated main by bob");
    await git(world.copy, "pull", "--quiet", "--ff-only", "origin", "main");
    expect(await git(world.copy, "rev-parse", "HEAD")).to.equal(body["hash"]);
  });

  it("lets each action see what those before it did", async () => {
    await fresh();
    const { status, text } = await commit([
      move("a.txt", "b.txt"),
      create("a.txt/now/a/directory", "x"),
      create("tmp", "1"),
      update("tmp", "2"),
      move("tmp", "kept"),
      create("gone", "x"),
      remove("gone"),
    ]);
    expect(status, text).to.equal(200);
    expect(await tree()).to.deep.equal([
      "100644 a.txt/now/a/directory",
      "100644 b.txt",
      "100644 kept",
    ]);
    const back = await commit([remove("a.txt/now/a/directory"), create("a.txt", "a file again")]);
    expect(back.status, back.text).to.equal(200);
    expect(await tree()).to.deep.equal(["100644 a.txt", "100644 b.txt", "100644 kept"]);
  });

  it("names every action that cannot be done, and does none of them", async () => {
    await fresh();
    await commitLocally(world.copy, "Link", { "dir/c.txt": "c\n" });
    await symlink("dir", path.join(world.copy, "link"));
    await commitLocally(world.copy, "Link");
    await git(world.copy, "push", "--quiet", "origin", "main");
    const head = await app.head();

    const { status, body } = await commit([
      create("fine"),
      create("a.txt"),
      update("none", "x"),
      remove("dir"),
      move("none", "x"),
      move("a.txt", "dir/c.txt"),
      create("dir"),
      create("a.txt/below"),
      create("link/c.txt"),
      update("link", "elsewhere"),
      update("link/c.txt", "x"),
    ]);

    expect(status).to.equal(422);
    expect(fieldErrors(body)).to.deep.equal([
      ["actions.1.path", "commit.file_exists"],
      ["actions.2.path", "commit.file_not_found"],
      ["actions.3.path", "commit.file_not_found"],
      ["actions.4.previousPath", "commit.file_not_found"],
      ["actions.5.path", "commit.file_exists"],
      ["actions.6.path", "commit.name_conflict"],
      ["actions.7.path", "commit.name_conflict"],
      ["actions.8.path", "commit.name_conflict"],
      ["actions.9.path", "commit.not_a_file"],
      ["actions.10.path", "commit.file_not_found"],
    ]);
    expect(await app.head()).to.equal(head);
  });

  it("is refused when it would change nothing", async () => {
    await fresh();
    for (const actions of [[update("a.txt", "a\n")], [create("b"), remove("b")]]) {
      expect((await commit(actions)).body).to.include({ status: 422, code: "commit.empty" });
    }
  });

  it("answers 422 for what is no commit", async () => {
    const wrong: readonly (readonly [readonly Action[], object, string])[] = [
      [[], {}, "actions"],
      [[create("a")], { message: " \n" }, "message"],
      [[create("a")], { message: "x".repeat(64 * 1024 + 1) }, "message"],
      [[create("a")], { branch: "a..b" }, "branch"],
      [[{ action: "CREATE", path: "x" }], {}, "actions.0.content"],
      [[{ action: "UPDATE", path: "a.txt" }], {}, "actions.0.content"],
      [[{ action: "MOVE", path: "x" }], {}, "actions.0.previousPath"],
      [[{ action: "CHMOD", path: "x" }], {}, "actions.0.action"],
      [[{ ...create("a"), encoding: "base64", content: "x" }], {}, "actions.0.content"],
      [[{ ...create("a"), encoding: "base64", content: "a_-*" }], {}, "actions.0.content"],
      [[{ ...create("a"), encoding: "utf-16" }], {}, "actions.0.encoding"],
      [[create("a/".repeat(3_000))], {}, "actions.0.path"],
      [[create("x".repeat(256))], {}, "actions.0.path"],
    ];
    for (const [actions, over, field] of wrong) {
      const { status, body } = await commit(actions, over);
      expect(status, field).to.equal(422);
      expect(fieldErrors(body).map(([name]) => name)).to.deep.equal([field]);
    }
    const many = Array.from({ length: 1_001 }, (_, index) => create(`f${index}`));
    expect((await commit(many)).status).to.equal(422);
  });

  it("begins a branch where another one stands", async () => {
    await fresh();
    const { body } = await commit([create("b.txt")], { branch: "dev", startBranch: "main" });
    expect(body["parentCommitIds"]).to.deep.equal([world.head]);
    expect(await world.recordedChanges()).to.deep.equal([
      "BranchCreated main by anna",
      "BranchCreated dev by bob",
    ]);
    const codes = [
      [{ branch: "dev", startBranch: "main" }, 422, "branch.exists"],
      [{ branch: "none" }, 404, "branch.not_found"],
      [{ branch: "none", startBranch: "nobody" }, 404, "branch.not_found"],
      [{ branch: "dev/x", startBranch: "main" }, 422, "ref.name_conflict"],
    ] as const;
    for (const [over, status, code] of codes) {
      expect((await commit([create("c")], over)).body).to.include({ status, code });
    }
    expect((await commit([create("c")], { startBranch: "main" })).status).to.equal(200);
  });

  it("can be the first of a project, and makes its branch the default one", async () => {
    const { ownerAlias, alias } = await app.givenProject(
      people.anna,
      `empty-${world.project.alias}`,
    );
    const at = `/project/${ownerAlias}/${alias}`;
    const body = {
      branch: "trunk",
      message: "First",
      actions: [create("dir/README.md", "# Hi\n")],
    };
    const { token } = people.anna;
    const nothing = { ...body, actions: [remove("x")] };
    expect((await app.post(`${at}/commit`, { token, body: nothing })).status).to.equal(422);

    const made = await app.post(`${at}/commit`, { token, body });

    expect(made.body, made.text).to.deep.include({ shortMessage: "First", parentCommitIds: [] });
    expect((await app.get(at, { token })).body).to.include({ defaultBranch: "trunk" });
    const file = await app.get(`${at}/blob?commitHash=${made.body["hash"]}&file=dir/README.md`, {
      token,
    });
    expect(file.text).to.equal("# Hi\n");
  });

  it("answers 409 with the files when a concurrent commit changed the same ones", async () => {
    // On a busy machine one may be done before the other begins: then again.
    for (let round = 1; ; round += 1) {
      const before = (await world.recordedChanges()).length;
      const answers = await Promise.all(
        // One account has two places for such requests at once.
        ["one", "two"].map((text) =>
          commit([update("a.txt", `${text} ${round}`), create(`${text}-${round}`)]),
        ),
      );
      const statuses = answers.map(({ status }) => status).sort();
      const made = statuses.filter((status) => status === 200).length;
      expect(await world.recordedChanges()).to.have.length(before + made);
      if (made === 2 && round < 20) continue;
      expect(statuses).to.deep.equal([200, 409]);
      expect(answers.find(({ status }) => status === 409)?.body).to.deep.include({
        code: "commit.files_changed",
        files: ["a.txt"],
      });
      break;
    }
  });

  it("is made once under an Idempotency-Key", async () => {
    await fresh();
    const body = { branch: "main", message: "Once", actions: [create("b.txt")] };
    const answers = await Promise.all(
      [1, 2].map(() => world.post(people.bob, "/commit", body, "the-same")),
    );
    expect(answers[0]?.status).to.equal(200);
    expect(answers[0]?.body).to.deep.equal(answers[1]?.body);
    expect(await bare("rev-list", "--count", "main")).to.equal("2");
  });

  it("is refused to a reporter, and where a rule forbids a push, leaving no objects", async () => {
    await fresh();
    expect((await commit([create("b")], {}, people.carl)).status).to.equal(403);
    await world.post(people.anna, "/branch-protection/create", {
      branchTemplate: "{main,release/*}",
      allowedToPush: "ADMINS",
    });
    await world.post(people.anna, "/branch-protection/create", {
      branchTemplate: "main",
      allowedToPush: "ADMINS",
    });
    const before = await bare("count-objects");
    expect((await commit([create("b")])).body).to.include({
      status: 403,
      code: "branch.protected",
    });
    expect(await bare("count-objects")).to.equal(before);
    expect((await commit([create("b")], {}, people.anna)).status).to.equal(200);
  });

  it("is refused with a body that is too large", async () => {
    const body = JSON.stringify({ x: "x".repeat(33 * 1024 ** 2) });
    const headers = { "content-type": "application/json" };
    const answer = await app
      .post(world.at("/commit"), { token: people.bob.token, body, headers })
      .catch(() => undefined);
    // The answer goes out while the body still comes in: some clients only see the line cut.
    if (answer !== undefined) expect(answer.status).to.equal(413);
  });

  it("is checked by git as a push is", async () => {
    await fresh();
    const content = '[submodule "x"]\n\tpath = x\n\turl = -u./payload\n';
    const { status, body } = await commit([create(".gitmodules", content)]);
    expect([status, body["code"]]).to.deep.equal([422, "commit.object_refused"]);
    expect(body["message"]).to.contain("gitmodulesUrl");
  });
});
