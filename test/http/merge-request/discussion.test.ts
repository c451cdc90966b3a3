import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { codeOf } from "../../support/app/answer.ts";
import { startTestApp, type TestUser } from "../../support/app/app.ts";
import { git } from "../../support/git/git.ts";
import { type Json, type MergeWorld, mergeWorlds } from "../../support/git/merge-world.ts";

const app = await startTestApp();
const { people, world: newWorld } = await mergeWorlds(app);
const { anna, bob, carl } = people;
const text = ["one", "two", "three", "four", "five", ""].join("\n");

let world: MergeWorld;
let head: string;
before(async () => {
  world = await newWorld();
  head = await world.push("feature", { "feature.txt": text });
  await world.open();
});

const at = "/merge-request/1/discussions";
const create = (body: Json, user: TestUser = carl) => world.post(user, `${at}/create`, body);
const line = { newLine: 3, oldLine: 0, newPath: "feature.txt", oldPath: "/dev/null" };

async function started(body: Json = {}, user?: TestUser): Promise<Json> {
  const answer = await create({ message: "Why?", ...body }, user);
  expect(answer.status, answer.text).to.equal(200);
  return answer.body;
}

const read = async (id: unknown) => (await world.get(bob, `${at}/${id}`)).body;

describe("starting a discussion", () => {
  it("answers the first note, which every reader may write", async () => {
    const note = await started();
    expect(note).to.deep.include({
      discussionUuid: null,
      message: "Why?",
      rawMessage: "Why?",
      resolved: false,
      resolvable: null,
      type: "MERGE_REQUEST_COMMENT",
      formatedDate: "just now",
      newLine: null,
      oldLine: null,
      initialNewLine: null,
      newPath: null,
      baseCommit: world.head,
      startCommit: world.head,
      targetCommit: head,
      outdated: false,
      replies: [],
    });
    expect(note["author"]).to.include({ id: carl.id });
    expect(await read(note["uuid"])).to.deep.equal(note);
  });

  it("about a line needs all four fields, and a line that is there", async () => {
    expect(await started(line)).to.deep.include({
      newLine: 3,
      oldLine: null,
      initialNewLine: 3,
      newPath: "feature.txt",
      oldPath: "/dev/null",
    });
    for (const missing of Object.keys(line)) {
      const body = { message: "m", ...line, [missing]: undefined };
      const answer = await create(body);
      expect(codeOf(answer), missing).to.deep.equal([422, "request.invalid"]);
      expect((answer.body["errors"] as Json[]).map(({ field }) => field)).to.deep.equal([missing]);
    }
    for (const over of [
      { newLine: 6 },
      { newLine: 99_999_999 },
      { newPath: "nowhere.txt" },
      { newPath: "../../etc/passwd" },
      { newPath: "." },
      { oldLine: 1 },
      { oldLine: 2, oldPath: "a.txt" },
      { newLine: 0 },
    ]) {
      const answer = await create({ message: "m", ...line, ...over });
      expect(codeOf(answer), JSON.stringify(over)).to.deep.equal([
        422,
        "discussion.line_not_found",
      ]);
    }
    expect((await create({ message: "m", ...line, newLine: -1 })).status).to.equal(422);
  });

  it("takes lines and paths of both sides that are one line of one file, and no others", async () => {
    const own = await newWorld();
    const lines = ["1", "2", "3", "4", "5", "6", "7", "8", ""].join("\n");
    await own.push("main", { "old.txt": lines, "same.txt": lines, "c.txt": lines });
    await git(own.copy, "checkout", "--quiet", "-b", "pairs", "main");
    await git(own.copy, "mv", "old.txt", "new.txt");
    const changed = lines.replace("2", "two").replace("8", "eight");
    await own.push("pairs", { "new.txt": `0\n${lines}`, "g.txt": "g\n", "c.txt": changed });
    await own.open({ sourceBranch: { id: "pairs" } });
    const answerTo = async (newPath: string, newLine: number, oldPath: string, oldLine: number) => {
      const body = { message: "m", newPath, newLine, oldPath, oldLine };
      return (await own.post(carl, `${at}/create`, body)).status;
    };
    for (const [newPath, newLine, oldPath, oldLine, status] of [
      ["new.txt", 3, "old.txt", 2, 200],
      ["new.txt", 1, "old.txt", 0, 200],
      ["same.txt", 2, "same.txt", 2, 200],
      ["g.txt", 1, "g.txt", 0, 200],
      ["c.txt", 2, "c.txt", 2, 200],
      ["c.txt", 8, "c.txt", 2, 422],
      ["new.txt", 3, "old.txt", 3, 422],
      ["same.txt", 2, "same.txt", 3, 422],
      ["g.txt", 1, "old.txt", 1, 422],
      ["g.txt", 1, "old.txt", 0, 422],
      ["new.txt", 3, "same.txt", 2, 422],
    ] as const) {
      const place = `${newPath}:${newLine} ${oldPath}:${oldLine}`;
      expect(await answerTo(newPath, newLine, oldPath, oldLine), place).to.equal(status);
    }
  });

  it("is listed by the file that it began in", async () => {
    await started(line);
    await started();
    const listed = async (query: string) => {
      const { body } = await world.get(bob, `${at}?size=200${query}`);
      const { _embedded: all, page } = body as Json & { page: Json; _embedded: Json };
      return { all: all["restDiscussionModelList"] as Json[], total: page["totalElements"] };
    };
    const whole = await listed("");
    const { all, total } = await listed("&filePath=feature.txt&filePath=other.txt");
    const paths = all.map(({ rootNote }) => (rootNote as Json)["newPath"]);
    expect(new Set(paths)).to.deep.equal(new Set(["feature.txt"]));
    expect(total).to.equal(all.length).and.to.be.lessThan(whole.all.length);
    expect((await listed("&filePath=other.txt")).total).to.equal(0);
    // Without a value it is no filter, as everywhere.
    expect((await listed("&filePath=")).total).to.equal(whole.total);
  });

  it("is refused without words, with too many, and with control characters", async () => {
    for (const message of ["", "  \n", undefined, "x".repeat(100_001), "a\u001b[0m"]) {
      expect((await create({ message })).status).to.equal(422);
    }
  });

  it("keeps what is written as it is: markup is the reader's to escape", async () => {
    const message = "<script>alert(1)</script> **b**";
    expect(await started({ message })).to.include({ message, rawMessage: message });
  });
});

describe("a discussion", () => {
  const reply = (discussionUuid: unknown, user: TestUser = bob) =>
    world.post(user, `${at}/reply`, { discussionUuid, message: "Because." });

  it("takes replies; a reply to a reply belongs to the first note", async () => {
    const root = await started();
    const first = (await reply(root["uuid"])).body;
    const second = (await reply(first["uuid"], anna)).body;
    for (const note of [first, second]) {
      expect(note).to.include({ discussionUuid: root["uuid"], mergeRequestUuid: null });
    }
    const { replies } = (await read(root["uuid"])) as { replies: Json[] };
    expect(replies.map(({ uuid }) => uuid)).to.deep.equal([first["uuid"], second["uuid"]]);
    const listed = (await world.get(bob, `${at}?size=200`)).body["_embedded"] as Record<
      string,
      Json[]
    >;
    const shown = listed["restDiscussionModelList"]!.find(
      ({ rootNote }) => (rootNote as Json)["uuid"] === root["uuid"],
    );
    expect(shown!["replies"]).to.deep.equal(replies);
  });

  it("is resolved and taken up again by its author, the request's author and developers", async () => {
    const root = await started({}, bob);
    const settle = (verb: string, user: TestUser) =>
      world.post(user, `${at}/${verb}/${root["uuid"]}`);
    expect(codeOf(await settle("resolve", carl))).to.deep.equal([403, "auth.role_missing"]);
    for (const [verb, user, resolved] of [
      ["resolve", anna, true],
      ["resolve", anna, true],
      ["unresolve", bob, false],
      ["unresolve", bob, false],
    ] as const) {
      expect((await settle(verb, user)).body).to.include({ uuid: root["uuid"], resolved });
    }
    const own = await started();
    const answer = await world.post(carl, `${at}/resolve/${own["uuid"]}`);
    expect(answer.body).to.include({ resolved: true });
  });

  it("lets notes be edited and deleted by their author and administrators alone", async () => {
    const root = await started();
    const note = (await reply(root["uuid"])).body;
    const edit = (user: TestUser, id: unknown) =>
      world.put(user, `${at}/edit/${id}`, { message: "Better" });
    const remove = (user: TestUser, id: unknown) => world.delete(user, `${at}/delete/${id}`);
    expect(codeOf(await edit(bob, root["uuid"]))).to.deep.equal([403, "auth.role_missing"]);
    expect(codeOf(await remove(carl, note["uuid"]))).to.deep.equal([403, "auth.role_missing"]);
    expect((await edit(bob, note["uuid"])).body).to.include({ message: "Better" });
    expect((await edit(carl, root["uuid"])).body).to.include({ message: "Better" });
    expect((await remove(anna, note["uuid"])).status).to.equal(200);
    expect((await read(root["uuid"]))["replies"]).to.deep.equal([]);
    expect((await remove(carl, root["uuid"])).status).to.equal(200);
    expect(codeOf(await world.get(bob, `${at}/${root["uuid"]}`))).to.deep.equal([
      404,
      "discussion.not_found",
    ]);
    expect((await reply(root["uuid"])).status).to.equal(404);
  });

  it("does not exist for another request, project or id", async () => {
    const root = await started();
    const other = await newWorld();
    await other.open();
    for (const id of [root["uuid"], randomUUID()]) {
      for (const send of [
        () => other.get(anna, `${at}/${id}`),
        () => other.post(anna, `${at}/reply`, { discussionUuid: id, message: "m" }),
        () => other.post(anna, `${at}/resolve/${id}`),
        () => other.put(anna, `${at}/edit/${id}`, { message: "m" }),
        () => other.delete(anna, `${at}/delete/${id}`),
      ]) {
        expect(codeOf(await send())).to.deep.equal([404, "discussion.not_found"]);
      }
    }
  });
});

describe("a discussion with long texts", () => {
  const stored = "\u0001".repeat(100_000);
  /** As a service stored it that took such texts. */
  async function store(discussionId: unknown, replies: number): Promise<void> {
    const [root] = await app.deps.db("discussion_note").where({ id: discussionId });
    await app.deps.db("discussion_note").where({ id: discussionId }).update({ message: stored });
    const rows = Array.from({ length: replies }, (_, index) => ({
      ...root,
      id: randomUUID(),
      message: index < 45 ? stored : `reply ${index}`,
      revision: index + 1,
      resolved: null,
    }));
    await app.deps.db.batchInsert("discussion_note", rows);
  }
  const listOf = (answer: { body: Json }) =>
    (answer.body["_embedded"] as Record<string, Json[]>)["restDiscussionModelList"]!;

  it("is listed in bounded bytes with its newest replies, and read on by number", async () => {
    const own = await newWorld();
    await own.open();
    const { uuid } = (await own.post(carl, `${at}/create`, { message: "m" })).body;
    await store(uuid, 60);
    const list = await own.get(bob, at);
    expect(list.text.length).to.be.lessThan(16 * 1024 ** 2);
    const [{ rootNote, replies }] = listOf(list) as [{ rootNote: Json; replies: Json[] }];
    expect(rootNote).to.include({ repliesTotal: 60, truncated: false });
    expect(rootNote["replies"]).to.deep.equal([]);
    expect(replies.at(-1)).to.include({ message: "reply 59" });
    expect(replies).to.have.length(25);

    const page = async (from: number) =>
      (await own.get(bob, `${at}/${uuid}?repliesFrom=${from}`)).body as Json & { replies: Json[] };
    expect(await page(0)).to.include({ message: stored, repliesTotal: 60 });
    expect((await page(0)).replies).to.have.length(31);
    expect((await page(31)).replies.at(-1)).to.include({ message: "reply 59" });
    expect((await page(60)).replies).to.deep.equal([]);
  });

  it("is answered without its replies when it is resolved or edited", async () => {
    const own = await newWorld();
    await own.open();
    const { uuid } = (await own.post(carl, `${at}/create`, { message: "m" })).body;
    await own.post(bob, `${at}/reply`, { discussionUuid: uuid, message: "r" });
    for (const answer of [
      await own.post(carl, `${at}/resolve/${uuid}`),
      await own.post(carl, `${at}/unresolve/${uuid}`),
      await own.put(carl, `${at}/edit/${uuid}`, { message: "n" }),
    ]) {
      expect(answer.body).to.deep.include({ uuid, repliesTotal: 1, replies: [] });
    }
  });

  it("shows the beginnings of first notes in a list that is too long, all of them alone", async () => {
    const own = await newWorld();
    await own.open();
    const { uuid } = (await own.post(carl, `${at}/create`, { message: "short" })).body;
    const [root] = await app.deps.db("discussion_note").where({ id: uuid });
    const rows = Array.from({ length: 30 }, () => {
      const id = randomUUID();
      return { ...root, id, discussion_id: id, message: "x".repeat(100_000) };
    });
    await app.deps.db.batchInsert("discussion_note", rows);
    const list = await own.get(bob, `${at}?size=200`);
    expect(list.text.length).to.be.lessThan(6 * 1024 ** 2);
    const notes = listOf(list).map(({ rootNote }) => rootNote as Json);
    expect(notes).to.have.length(31);
    expect(notes.filter(({ truncated }) => truncated === true)).to.have.length(30);
    const cut = notes.find(({ truncated }) => truncated === true)!;
    expect(rows[0]!.message.startsWith(String(cut["message"]))).to.equal(true);
    expect((await own.get(bob, `${at}/${cut["uuid"]}`)).body["message"]).to.have.length(100_000);
    expect(
      listOf(await own.get(bob, `${at}?size=10`)).some(
        (one) => (one["rootNote"] as Json)["truncated"],
      ),
    ).to.equal(false);
  });
});

describe("a discussion about a line", () => {
  it("follows the line through insertions, renames and edits elsewhere, until it is gone", async () => {
    const own = await newWorld();
    await own.push("feature", { "feature.txt": text });
    await own.open();
    const root = (await own.post(carl, `${at}/create`, { message: "m", ...line })).body;
    const place = async () => {
      const { body } = await own.get(bob, `${at}/${root["uuid"]}`);
      const { newPath, newLine, initialNewLine, outdated, targetCommit } = body;
      expect([initialNewLine, targetCommit]).to.deep.equal([3, root["targetCommit"]]);
      return [newPath, newLine, outdated];
    };
    await own.push("feature", { "feature.txt": `zero\n${text}` });
    expect(await place()).to.deep.equal(["feature.txt", 4, false]);
    await git(own.copy, "mv", "feature.txt", "renamed.txt");
    await own.push("feature", { "renamed.txt": `${text}six\n` });
    expect(await place()).to.deep.equal(["renamed.txt", 3, false]);
    await own.push("feature", { "renamed.txt": text.replace("three", "3") });
    expect(await place()).to.deep.equal(["feature.txt", null, true]);
    // What was gone may come back.
    await own.push("feature", { "renamed.txt": text });
    expect(await place()).to.deep.equal(["renamed.txt", 3, false]);
  });
});

describe("discussions of a request whose target branch is gone", () => {
  it("keep their lines, and new ones begin, against the branch as it was last", async () => {
    const gone = await newWorld();
    await git(gone.copy, "push", "--quiet", "origin", "main:refs/heads/target");
    await gone.push("feature", { "feature.txt": text });
    await gone.open({ targetBranch: { id: "target" } });
    const start = (body: Json) => gone.post(carl, `${at}/create`, { message: "Why?", ...body });
    const { body: first } = await start(line);
    await git(gone.copy, "push", "--quiet", "origin", ":refs/heads/target");
    const { body: note } = await gone.get(bob, `${at}/${first["uuid"]}`);
    expect(note).to.include({ outdated: false, newLine: 3 });
    const second = await start({});
    expect(second.status, second.text).to.equal(200);
    expect(second.body).to.include({ startCommit: gone.head });
    expect((await gone.get(bob, "/merge-request/1/changes")).status).to.equal(200);
  });
});
