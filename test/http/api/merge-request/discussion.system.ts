import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { git } from "../../../support/git/git.ts";
import type { Json } from "../../../support/git/merge-world.ts";
import { at, givenDiscussions, line, text } from "../../../support/merge-request/discussions.ts";

const { app, newWorld, bob, carl } = await givenDiscussions();

describe("starting a discussion", () => {
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
