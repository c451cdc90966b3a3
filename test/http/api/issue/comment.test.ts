import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { issueCommentStream } from "../../../../src/events/issue/issue-comment.ts";
import { auditTrail } from "../../../../src/projections/audit/trail.ts";
import { notificationOf } from "../../../../src/workers/webhook/notification.ts";
import { codeOf } from "../../../support/app/answer.ts";
import { startTestApp, type TestUser } from "../../../support/app/app.ts";
import { expectOk, issueClient, type Json } from "../../../support/app/issue.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");
const boris = await app.givenUser("boris");
const clara = await app.givenUser("clara");
const dora = await app.givenUser("dora");
const forge = await app.givenProject(anna, "forge");
const issues = issueClient(app, anna, "anna/forge");
await issues.invite("boris", "GUEST");
await issues.invite("clara", "DEVELOPER");

const at = (localId: unknown, rest = "") => `${issues.base}/issue-discussion/${localId}${rest}`;
const write = (localId: unknown, note: unknown, by: TestUser = anna) =>
  app.post(at(localId, "/create"), { token: by.token, body: { note } });
const edit = (localId: unknown, id: unknown, note: unknown, by: TestUser = anna) =>
  app.put(at(localId, `/${id}/edit`), { token: by.token, body: { note } });
const remove = (localId: unknown, id: unknown, by: TestUser = anna) =>
  app.delete(at(localId, `/${id}/delete`), { token: by.token });

async function list(localId: unknown, query = "") {
  const answer = expectOk(await app.get(at(localId, query), { token: anna.token }));
  const { issueDiscussionList } = answer["_embedded"] as { issueDiscussionList: Json[] };
  return { comments: issueDiscussionList, page: answer["page"] as Json };
}

let localId: unknown;
let issueId: unknown;
beforeEach(async () => {
  ({ localId, id: issueId } = await issues.created());
});

describe("commenting on an issue", () => {
  it("answers the documented fields, and lists them oldest first", async () => {
    const first = expectOk(await write(localId, "One **bold** <b>word</b>", boris));
    expect(Object.keys(first).sort()).to.deep.equal(
      ["author", "createTimeDifference", "createdAt", "id", "message"].sort(),
    );
    expect(first).to.include({
      message: "One **bold** <b>word</b>",
      createTimeDifference: "just now",
    });
    expect(first["author"]).to.include({ username: "boris" });
    const second = expectOk(await write(localId, "Two"));
    const { comments, page } = await list(localId);
    expect(comments.map(({ id }) => id)).to.deep.equal([first["id"], second["id"]]);
    expect(page).to.include({ totalElements: 2 });
    expect((await list(localId, "?size=1&page=1")).comments).to.have.length(1);
  });

  it("lists the beginnings of long comments in bounded bytes, and all of them on a smaller page", async () => {
    const { id } = expectOk(await write(localId, "short"));
    const [row] = await app.deps.db("issue_comment").where({ id });
    const rows = Array.from({ length: 60 }, () => ({
      ...row,
      id: randomUUID(),
      message: "\u0001".repeat(65_536),
    }));
    await app.deps.db.batchInsert("issue_comment", rows);
    const { comments } = await list(localId, "?size=200");
    expect(JSON.stringify(comments).length).to.be.lessThan(16 * 1024 ** 2);
    expect(comments).to.have.length(61);
    expect(comments.filter(({ truncated }) => truncated === true)).to.have.length(60);
    expect(comments.find((comment) => comment["id"] === id)).to.not.have.property("truncated");
    const smaller = (await list(localId, "?size=20")).comments;
    expect(smaller.some(({ truncated }) => truncated === true)).to.equal(false);
  });

  it("needs access to the project and a text", async () => {
    expect(codeOf(await write(localId, "Hello", dora))).to.deep.equal([403, "auth.role_missing"]);
    for (const note of [undefined, "", " \n", "x".repeat(65_537), 5, "a\u001b[0m"]) {
      expect((await write(localId, note)).status, String(note).slice(0, 9)).to.equal(422);
    }
    expect(codeOf(await write(9_999, "Hello"))).to.deep.equal([404, "issue.not_found"]);
    expect((await list(localId)).comments).to.deep.equal([]);
  });

  it("is sent to webhooks as NEW_ISSUE_NOTE", async () => {
    const { id } = expectOk(await write(localId, "Told", boris));
    const deps = { ...app.deps, outbound: undefined as never, proxy: undefined as never };
    for await (const event of app.platform.store.readStream(issueCommentStream(String(id)))) {
      const notification = await notificationOf(event, deps);
      expect(notification).to.include({ projectId: forge.id, topic: "NEW_ISSUE_NOTE" });
      expect(await notification?.fields()).to.deep.equal({
        issue_note: {
          id,
          user_id: boris.id,
          issue_id: issueId,
          message: "Told",
          issue_local_id: localId,
        },
      });
    }
  });
});

describe("editing a comment", () => {
  it("is for its author and administrators", async () => {
    const { id } = expectOk(await write(localId, "One", boris));
    expect(expectOk(await edit(localId, id, "Two", boris))).to.include({ id, message: "Two" });
    expect(expectOk(await edit(localId, id, "Three"))).to.include({ message: "Three" });
    const refused = await edit(localId, id, "Four", clara);
    expect(codeOf(refused)).to.deep.equal([403, "auth.role_missing"]);
    const [comment] = (await list(localId)).comments;
    expect(comment).to.include({ message: "Three" });
    expect(comment!["author"]).to.include({ username: "boris" });
  });

  it("shows in the audit what was and what became", async () => {
    const { id } = expectOk(await write(localId, "Before"));
    expectOk(await edit(localId, id, "After"));
    const auditDeps = { ...app.deps, open: app.deps.vault.open };
    const changes: unknown[] = [];
    for await (const entry of auditTrail(auditDeps, { placeId: forge.id })) {
      if (entry.type === "IssueCommentEdited") changes.push(entry.changes);
    }
    expect(changes.at(-1)).to.deep.include({ field: "message", before: "Before", after: "After" });
  });
});

describe("deleting a comment", () => {
  it("is for its author and administrators", async () => {
    const { id } = expectOk(await write(localId, "One", boris));
    expect(codeOf(await remove(localId, id, clara))).to.deep.equal([403, "auth.role_missing"]);
    expectOk(await remove(localId, id, boris));
    expect(codeOf(await remove(localId, id, boris))).to.deep.equal([404, "comment.not_found"]);
    const { id: other } = expectOk(await write(localId, "Two", boris));
    expectOk(await remove(localId, other, anna));
    expect((await list(localId)).page).to.include({ totalElements: 0 });
  });

  it("happens with the issue", async () => {
    const { id } = expectOk(await write(localId, "One"));
    expectOk(await issues.remove(localId));
    expect(codeOf(await edit(localId, id, "Two"))).to.deep.equal([404, "issue.not_found"]);
    expect(await app.deps.db("issue_comment").where({ id })).to.deep.equal([]);
  });
});

describe("comments on other issues", () => {
  it("are not found, and nothing is recorded", async () => {
    await app.givenProject(anna, "other");
    const other = issueClient(app, anna, "anna/other");
    const elsewhere = await other.created();
    const foreign = await app.post(
      `${other.base}/issue-discussion/${elsewhere["localId"]}/create`,
      { token: anna.token, body: { note: "Elsewhere" } },
    );
    const neighbour = await issues.created();
    const { id: near } = expectOk(await write(neighbour["localId"], "Near"));
    for (const id of [foreign.body["id"], near, randomUUID(), "1", "x"]) {
      const head = await app.head();
      expect((await edit(localId, id, "Stolen")).status, String(id)).to.equal(404);
      expect((await remove(localId, id)).status, String(id)).to.equal(404);
      expect(await app.head()).to.equal(head);
    }
  });
});
