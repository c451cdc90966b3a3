import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { forgetUser } from "../../../../src/commands/user/forget-user.ts";
import { IssueStatus } from "../../../../src/events/issue/issue.ts";
import { commandDeps } from "../../../../src/http/core/command-deps.ts";
import { codeOf } from "../../../support/app/answer.ts";
import { startTestApp } from "../../../support/app/app.ts";
import { metadataFor } from "../../../support/app/history.ts";
import { expectOk, issueClient, type Json } from "../../../support/app/issue.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");
const boris = await app.givenUser("boris");
const clara = await app.givenUser("clara");
const dora = await app.givenUser("dora");
await app.givenProject(anna, "forge", { private: false });
await app.givenProject(anna, "hidden");
await app.givenProject(anna, "many");

const forge = issueClient(app, anna, "anna/forge");
const hidden = issueClient(app, anna, "anna/hidden");
await hidden.invite("boris", "GUEST");
await hidden.invite("clara", "REPORTER");
const usernames = (issue: Json) =>
  (issue["assignedUsers"] as Json[]).map((user) => user["username"]);
const titles = (issue: Json) => (issue["labels"] as Json[]).map(({ title }) => title);

describe("creating an issue", () => {
  it("answers the documented fields, and shows the same", async () => {
    const bug = await forge.label({ title: "bug", hexColor: "#cf222e" });
    const body = {
      assignedUsers: [{ id: boris.id }, { alias: "Boris" }],
      labels: [{ id: bug["id"] }],
    };
    const issue = await forge.created(body);
    expect(issue).to.include({ ...forge.details, projectAlias: "forge", userAlias: "anna" });
    expect(issue["localId"]).to.equal(1);
    expect(issue["status"]).to.deep.equal({
      id: "OPEN",
      title: "Open",
      hash: null,
      alias: null,
      ownerAlias: null,
      color: "#1a7f37",
      hexColor: "#1a7f37",
      icon: null,
      isDeleted: false,
    });
    expect(usernames(issue)).to.deep.equal(["boris"]);
    expect(issue["labels"]).to.deep.equal([bug]);
    expect(issue["updatedBy"]).to.include({ username: "anna" });
    expect(issue["createdAt"]).to.equal(issue["updatedAt"]);
    expect((await forge.get(1)).body).to.deep.equal(issue);
  });

  it("takes a label by its title in either field", async () => {
    await forge.label({ title: "docs" });
    expect(
      titles(await forge.created({ labels: [{ title: "DOCS" }, { id: "bug" }] })),
    ).to.deep.equal(["bug", "docs"]);
  });

  it("is allowed to everybody who reads the project", async () => {
    await hidden.created({}, boris);
    await forge.created({}, boris);
    expect(codeOf(await hidden.create({}, dora))).to.deep.equal([403, "auth.role_missing"]);
  });

  it("rejects what is malformed, unknown or of another project, and records nothing", async () => {
    const foreign = await hidden.label({ title: "foreign" });
    const head = await app.head();
    const user = (id: string) => ({ assignedUsers: [{ id }] });
    for (const [body, status, code] of [
      [{ title: " " }, 422, "request.invalid"],
      [{ title: undefined }, 422, "request.invalid"],
      [{ title: "a\nb" }, 422, "request.invalid"],
      [{ title: "a\tb" }, 422, "request.invalid"],
      [{ title: "a\u2028b" }, 422, "request.invalid"],
      [{ title: "x".repeat(100 * 1024) }, 422, "request.invalid"],
      [{ description: undefined }, 422, "request.invalid"],
      [{ description: " " }, 422, "request.invalid"],
      [{ description: "x".repeat(65_537) }, 422, "request.invalid"],
      [{ description: "x".repeat(10 * 1024 ** 2) }, 413, "body.too_large"],
      [{ description: "a\0b" }, 422, "body.nul"],
      [{ status: { id: "DONE" } }, 422, "request.invalid"],
      [{ status: "OPEN" }, 422, "request.invalid"],
      [{ labels: [{}] }, 422, "request.invalid"],
      [{ labels: [{ id: foreign["id"] }] }, 404, "label.not_found"],
      [{ labels: [{ id: "foreign" }] }, 404, "label.not_found"],
      [{ labels: [{ id: randomUUID() }] }, 404, "label.not_found"],
      [{ labels: Array(101).fill({ id: "bug" }) }, 422, "request.invalid"],
      [user("boris"), 422, "request.invalid"],
      [user(randomUUID()), 404, "user.not_found"],
      [{ assignedUsers: Array(101).fill({ id: boris.id }) }, 422, "request.invalid"],
    ] as const) {
      expect(codeOf(await forge.create(body)), JSON.stringify(body).slice(0, 80)).to.deep.equal([
        status,
        code,
      ]);
    }
    const refused = await hidden.create(user(dora.id));
    expect(refused.body["errors"]).to.containSubset([
      { field: "assignedUsers", code: "assignee.no_access" },
    ]);
    expect(await app.head()).to.equal(head);
  });

  it("keeps markup and unusual characters as they are", async () => {
    const title = `<script>alert(1)</script> \u202e "'&; \ud83d\ude80`;
    const description = "[x](javascript:alert(1)) <img src=x onerror=y>\r\n\t\u0085\u202e #1 @anna";
    const { localId } = await forge.created({ title, description });
    expect(expectOk(await forge.get(localId))).to.include({ title, description });
  });

  it("rejects control characters in a description, and says which and where", async () => {
    for (const character of ["\u0001", "\u0007", "\u000b", "\u000c", "\u001f", "\u007f"]) {
      const { body } = await forge.create({ description: `a${character}b` });
      const [{ field, code }] = body["errors"] as [Json];
      expect([field, code]).to.deep.equal(["description", "error.field.control_character"]);
    }
    const colored = await forge.create({ description: "npm test\n\u001b[31mfailed\u001b[0m" });
    expect(codeOf(colored)).to.deep.equal([422, "request.invalid"]);
    expect(colored.body["message"]).to.equal(
      "description: Character 10 is the control character U+001B (escape: remove the colors of the terminal). Only tabs and line ends are taken.",
    );
  });

  it("answers a repeated request with the same issue", async () => {
    const send = () =>
      app.post(`${forge.base}/issue`, {
        token: anna.token,
        body: forge.details,
        headers: { "idempotency-key": "issue-twice" },
      });
    const [one, two] = [await send(), await send()];
    expect(expectOk(one)).to.deep.equal(two.body);
  });

  it("numbers many that come at once without gaps", async () => {
    const many = issueClient(app, anna, "anna/many");
    const answers = await Promise.all(Array.from({ length: 40 }, () => many.created()));
    const numbers = answers.map(({ localId }) => Number(localId)).sort((a, b) => a - b);
    expect(numbers).to.deep.equal(Array.from({ length: 40 }, (_, index) => index + 1));
    expect((await many.list()).page).to.include({ totalElements: 40 });
  });
});

describe("getting an issue", () => {
  it("answers 404 for numbers that do not exist or are malformed", async () => {
    for (const localId of [0, -1, 9_999, "x", "1.5", "2147483648", "9".repeat(30)]) {
      expect((await forge.get(localId)).status, String(localId)).to.be.oneOf([404, 405]);
    }
  });

  it("needs access to the project", async () => {
    const { localId } = await hidden.created();
    expect(codeOf(await hidden.get(localId, dora))).to.deep.equal([403, "auth.role_missing"]);
    expectOk(await hidden.get(localId, boris));
  });
});

describe("editing an issue", () => {
  it("changes what is given, keeps the rest and names the editor", async () => {
    const body = { assignedUsers: [{ id: boris.id }], labels: [{ id: "bug" }] };
    const { localId, createdAt } = await forge.created(body);
    const edited = await forge.edited(localId, { title: "Find", status: { id: "IN_PROGRESS" } });
    expect(edited).to.deep.include({ title: "Find", createdAt });
    expect(edited["status"]).to.include({ id: "IN_PROGRESS" });
    expect([usernames(edited), titles(edited)]).to.deep.equal([["boris"], ["bug"]]);
    const emptied = await forge.edited(localId, { assignedUsers: [], labels: [] });
    expect([usernames(emptied), titles(emptied)]).to.deep.equal([[], []]);
    const head = await app.head();
    await forge.edited(localId, {});
    expect(await app.head(), "nothing changed").to.equal(head);
  });

  it("takes any of the members alone, and no empty title", async () => {
    const { localId } = await forge.created({ labels: [{ id: "bug" }] });
    const at = `${forge.base}/issue/${localId}/edit`;
    const put = (body: object) => app.put(at, { token: anna.token, body });
    for (const body of [
      { title: "Find" },
      { description: "Nothing" },
      { status: { id: "CLOSED" } },
      { assignedUsers: [{ id: boris.id }] },
      { labels: [] },
      {},
    ]) {
      expectOk(await put(body));
    }
    const issue = (await forge.get(localId)).body;
    expect(issue).to.include({ title: "Find", description: "Nothing" });
    expect(issue["status"]).to.include({ id: "CLOSED" });
    expect([usernames(issue), titles(issue)]).to.deep.equal([["boris"], []]);
    for (const body of [{ title: "" }, { title: null }, { description: " " }]) {
      expect(codeOf(await put(body)), JSON.stringify(body)).to.deep.equal([422, "request.invalid"]);
    }
  });

  it("reaches every status from every other", async () => {
    const { localId } = await forge.created();
    for (const from of IssueStatus.options) {
      for (const to of IssueStatus.options) {
        await forge.edited(localId, { status: { id: from } });
        const { status } = await forge.edited(localId, { status: { id: to } });
        expect(status).to.include({ id: to });
      }
    }
  });

  it("is for the author and from REPORTER on", async () => {
    const { localId } = await hidden.created({}, boris);
    const byAnna = await hidden.created();
    expect((await hidden.edit(localId, { title: "Mine" }, boris)).status).to.equal(200);
    expect((await hidden.edit(localId, { title: "Any" }, clara)).status).to.equal(200);
    const refused = await hidden.edit(byAnna["localId"], { title: "No" }, boris);
    expect(codeOf(refused)).to.deep.equal([403, "auth.role_missing"]);
    expect(codeOf(await hidden.edit(localId, {}, dora))).to.deep.equal([403, "auth.role_missing"]);
  });

  it("rejects labels and people as creating does", async () => {
    const { localId } = await hidden.created();
    const bad = [
      [{ labels: [{ id: "bug" }] }, 404],
      [{ assignedUsers: [{ id: dora.id }] }, 422],
      [{ assignedUsers: [{ id: randomUUID() }] }, 404],
      [{ assignedUsers: [{ alias: "nobody" }] }, 404],
      [{ assignedUsers: [{ id: null }] }, 422],
      [{ title: " " }, 422],
    ] as const;
    for (const [body, status] of bad) {
      expect((await hidden.edit(localId, body)).status, JSON.stringify(body)).to.equal(status);
    }
    expect(codeOf(await forge.edit(9_999))).to.deep.equal([404, "issue.not_found"]);
  });

  it("keeps parallel edits of different fields", async () => {
    const { localId } = await forge.created();
    await Promise.all([
      forge.edited(localId, { status: { id: "CLOSED" } }),
      forge.edited(localId, { labels: [{ id: "bug" }] }),
      forge.edited(localId, { assignedUsers: [{ id: anna.id }] }),
    ]);
    const issue = (await forge.get(localId)).body;
    expect(issue["status"]).to.include({ id: "CLOSED" });
    expect([usernames(issue), titles(issue)]).to.deep.equal([["anna"], ["bug"]]);
  });
});

describe("people who lost access", () => {
  it("stay assigned and cannot be chosen again", async () => {
    await hidden.invite("dora", "GUEST");
    const assigned = { assignedUsers: [{ id: dora.id }] };
    const { localId } = await hidden.created(assigned);
    expectOk(await app.delete(`${hidden.base}/member/dora`, { token: anna.token }));
    expect(usernames((await hidden.get(localId)).body)).to.deep.equal(["dora"]);
    const kept = await hidden.edited(localId, { ...assigned, title: "Kept" });
    expect(usernames(kept)).to.deep.equal(["dora"]);
    await hidden.edited(localId, { assignedUsers: [] });
    expect((await hidden.edit(localId, assigned)).status).to.equal(422);
    expect((await hidden.create(assigned)).status).to.equal(422);
  });

  it("are not named once they were forgotten", async () => {
    const emil = await app.givenUser("emil");
    const { localId } = await forge.created({ assignedUsers: [{ id: emil.id }] }, emil);
    const { position } = await forgetUser(
      commandDeps(app.deps),
      emil.id,
      metadataFor(randomUUID()),
    );
    await app.deps.visible(position);
    const issue = expectOk(await forge.get(localId));
    const nobody = { id: emil.id, username: "", fullName: "deleted user" };
    expect(issue["updatedBy"]).to.include(nobody);
    expect((issue["assignedUsers"] as Json[])[0]).to.include(nobody);
    const again = await forge.create({ assignedUsers: [{ id: emil.id }] });
    expect(codeOf(again)).to.deep.equal([404, "user.not_found"]);
  });
});

describe("deleting an issue", () => {
  it("is for its author and administrators, and frees no number", async () => {
    const { localId } = await hidden.created({}, boris);
    expect(codeOf(await hidden.remove(localId, clara))).to.deep.equal([403, "auth.role_missing"]);
    expectOk(await hidden.remove(localId, boris));
    expect(codeOf(await hidden.get(localId))).to.deep.equal([404, "issue.not_found"]);
    expect(codeOf(await hidden.remove(localId))).to.deep.equal([404, "issue.not_found"]);
    const next = await hidden.created({}, boris);
    expect(next["localId"]).to.equal(Number(localId) + 1);
    expectOk(await hidden.remove(next["localId"], anna));
    expect((await hidden.list()).ids).not.to.include(next["localId"]);
  });
});

describe("deleting a label", () => {
  it("takes it from the issues that had it", async () => {
    const label = await forge.label({ title: "short-lived" });
    const { localId } = await forge.created({ labels: [{ id: label["id"] }, { id: "bug" }] });
    expectOk(await app.delete(`${forge.base}/label/${label["id"]}`, { token: anna.token }));
    expect(titles((await forge.get(localId)).body)).to.deep.equal(["bug"]);
    expect((await forge.list("?label=short-lived")).ids).to.deep.equal([]);
  });
});
