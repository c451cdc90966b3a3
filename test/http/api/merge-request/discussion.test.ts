import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { codeOf } from "../../../support/app/answer.ts";
import type { TestUser } from "../../../support/app/app.ts";
import type { Json } from "../../../support/git/merge-world.ts";
import { at, givenDiscussions, line } from "../../../support/merge-request/discussions.ts";

const given = await givenDiscussions();
const { newWorld, anna, bob, carl } = given;

const create = (body: Json, user: TestUser = carl) => given.world.post(user, `${at}/create`, body);

async function started(body: Json = {}, user?: TestUser): Promise<Json> {
  const answer = await create({ message: "Why?", ...body }, user);
  expect(answer.status, answer.text).to.equal(200);
  return answer.body;
}

const read = async (id: unknown) => (await given.world.get(bob, `${at}/${id}`)).body;

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
      baseCommit: given.world.head,
      startCommit: given.world.head,
      targetCommit: given.head,
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

  it("is listed by the file that it began in", async () => {
    await started(line);
    await started();
    const listed = async (query: string) => {
      const { body } = await given.world.get(bob, `${at}?size=200${query}`);
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
    given.world.post(user, `${at}/reply`, { discussionUuid, message: "Because." });

  it("takes replies; a reply to a reply belongs to the first note", async () => {
    const root = await started();
    const first = (await reply(root["uuid"])).body;
    const second = (await reply(first["uuid"], anna)).body;
    for (const note of [first, second]) {
      expect(note).to.include({ discussionUuid: root["uuid"], mergeRequestUuid: null });
    }
    const { replies } = (await read(root["uuid"])) as { replies: Json[] };
    expect(replies.map(({ uuid }) => uuid)).to.deep.equal([first["uuid"], second["uuid"]]);
    const listed = (await given.world.get(bob, `${at}?size=200`)).body["_embedded"] as Record<
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
      given.world.post(user, `${at}/${verb}/${root["uuid"]}`);
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
    const answer = await given.world.post(carl, `${at}/resolve/${own["uuid"]}`);
    expect(answer.body).to.include({ resolved: true });
  });

  it("lets notes be edited and deleted by their author and administrators alone", async () => {
    const root = await started();
    const note = (await reply(root["uuid"])).body;
    const edit = (user: TestUser, id: unknown) =>
      given.world.put(user, `${at}/edit/${id}`, { message: "Better" });
    const remove = (user: TestUser, id: unknown) => given.world.delete(user, `${at}/delete/${id}`);
    expect(codeOf(await edit(bob, root["uuid"]))).to.deep.equal([403, "auth.role_missing"]);
    expect(codeOf(await remove(carl, note["uuid"]))).to.deep.equal([403, "auth.role_missing"]);
    expect((await edit(bob, note["uuid"])).body).to.include({ message: "Better" });
    expect((await edit(carl, root["uuid"])).body).to.include({ message: "Better" });
    expect((await remove(anna, note["uuid"])).status).to.equal(200);
    expect((await read(root["uuid"]))["replies"]).to.deep.equal([]);
    expect((await remove(carl, root["uuid"])).status).to.equal(200);
    expect(codeOf(await given.world.get(bob, `${at}/${root["uuid"]}`))).to.deep.equal([
      404,
      "discussion.not_found",
    ]);
    expect((await reply(root["uuid"])).status).to.equal(404);
  });

  it("changes its request, by whatever happens in it", async () => {
    const changedAt = async () =>
      Date.parse(String((await given.world.get(bob, "/merge-request/1")).body["updatedAt"]));
    const root = await started();
    const note = (await reply(root["uuid"])).body;
    let before = await changedAt();
    for (const act of [
      () => started(),
      () => reply(root["uuid"]),
      () => given.world.post(anna, `${at}/resolve/${root["uuid"]}`),
      () => given.world.post(anna, `${at}/unresolve/${root["uuid"]}`),
      () => given.world.put(bob, `${at}/edit/${note["uuid"]}`, { message: "Better" }),
      () => given.world.delete(bob, `${at}/delete/${note["uuid"]}`),
      () => given.world.delete(carl, `${at}/delete/${root["uuid"]}`),
    ]) {
      await act();
      const after = await changedAt();
      expect(after, String(act)).to.be.above(before);
      before = after;
    }
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
