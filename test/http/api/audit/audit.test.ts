import { expect } from "chai";
import { Scope } from "../../../../src/events/token/access-token.ts";
import { hashToken } from "../../../../src/platform/key/token.ts";
import { type Answer, startTestApp, type TestUser } from "../../../support/app/app.ts";

const app = await startTestApp();

type Entry = Readonly<{
  position: string;
  eventId: string;
  type: string;
  actor: { userId: string | null; alias: string | null; via: string };
  tokenName: string | null;
  ip: string | null;
  subject: { kind: string; id: string; title: string | null };
  changes: readonly { field: string; before?: unknown; after?: unknown }[];
  correlationId: string;
}>;
type Cursor = Readonly<{ before: string | null; after: string | null }>;

const entries = ({ body }: Answer): readonly Entry[] =>
  (body["_embedded"] as { auditEntryList: Entry[] }).auditEntryList;
const cursor = ({ body }: Answer) => body["page"] as Cursor;
const types = (answer: Answer) => entries(answer).map(({ type }) => type);

let anna: TestUser;
let bob: TestUser;
let root: TestUser;
let tokenName: string;
const project = "/project/anna/search";

before(async () => {
  anna = await app.givenUser("anna");
  bob = await app.givenUser("bob");
  root = await app.givenUser("root", { admin: true });
  await app.givenProject(anna, "search", { private: false });
  const { token } = anna;
  const named = await app.givenToken(anna.id, Scope.options);
  const row = { token_hash: hashToken(named) };
  tokenName = (await app.platform.db("access_token").where(row).first("name")).name;
  const visibility = { token: named, body: { isPrivate: true } };
  await app.put(`${project}/setting/visibility`, visibility);
  await app.put(`${project}/setting/visibility`, { token, body: { isPrivate: false } });
  const issue = { token: bob.token, body: { title: "A bug", description: "It fails" } };
  expect((await app.post(`${project}/issue`, issue)).status).to.equal(200);
});

describe("GET <P>/audit", () => {
  const get = (query = "", token = anna.token) => app.get(`${project}/audit${query}`, { token });

  it("reports who did what, with which token, and what was before and after", async () => {
    const [, made] = entries(await get("?type=ProjectVisibilityChanged"));
    expect(made).to.deep.include({
      tokenName,
      ip: "127.0.0.1",
      actor: { userId: anna.id, alias: "anna", via: "token" },
      changes: [{ field: "private", before: false, after: true }],
    });
    expect(made?.subject).to.deep.include({ kind: "PROJECT", title: "search" });
  });

  it("shows no address of a user who is no member", async () => {
    const [created] = entries(await get("?kind=ISSUE"));
    expect(created).to.deep.include({ type: "IssueCreated", ip: "«personal data»" });
    expect(created?.subject.title).to.equal("A bug");
  });

  it("filters by actor, thing and request", async () => {
    expect(types(await get("?actor=bob&kind=ISSUE"))).to.deep.equal(["IssueCreated"]);
    expect(types(await get("?actor=anna&kind=ISSUE"))).to.deep.equal([]);
    for (const several of ["kind=LABEL&kind=ISSUE", "kind=ISSUE,LABEL"]) {
      expect(types(await get(`?actor=bob&${several}`))).to.deep.equal(["IssueCreated"]);
    }
    const both = "type=IssueCreated&type=LabelCreated,IssueEdited";
    expect(types(await get(`?actor=bob&${both}`))).to.deep.equal(["IssueCreated"]);
    const [created] = entries(await get("?kind=ISSUE"));
    for (const subject of [created?.subject.id, created?.subject.id.toUpperCase()]) {
      expect(types(await get(`?subject=${subject}`))).to.deep.equal(["IssueCreated"]);
    }
    const followed = types(await get(`?correlationId=${created?.correlationId}`));
    expect(followed).to.include.members(["IssueCreated", "LocalIdAssigned"]);
    expect((await get("?actor=nobody")).status).to.equal(404);
  });

  it("names an event type that does not exist, because nothing would be found of it", async () => {
    for (const path of [`${project}/audit`, `${project}/events`]) {
      const answer = await app.get(`${path}?type=IssueCreated,IssueOpened`, { token: anna.token });
      expect(answer.status, answer.text).to.equal(422);
      expect(answer.body["message"]).to.equal("type: There is no event type IssueOpened.");
    }
  });

  it("filters by time", async () => {
    expect(types(await get("?until=2020-01-01"))).to.deep.equal([]);
    expect(types(await get("?since=2020-01-01T00:00:00%2B02:00&size=200"))).to.include(
      "ProjectCreated",
    );
  });

  it("goes through all pages, each entry once, while others are added", async () => {
    const all = entries(await get("?size=200")).map(({ position }) => position);
    const seen: string[] = [];
    for (let at: string | null = ""; at !== null; ) {
      const page: Answer = await get(`?size=2${at === "" ? "" : `&before=${at}`}`);
      seen.push(...entries(page).map(({ position }) => position));
      at = cursor(page).before;
      if (seen.length === 2) {
        await app.put(`${project}/setting/alias`, { token: anna.token, body: { alias: "search" } });
      }
    }
    expect(seen).to.deep.equal(all);
  });

  it("goes upwards from a position without a gap", async () => {
    const all = entries(await get("?size=200")).map(({ position }) => position);
    const page = await get(`?size=2&after=${all.at(-1)}`);
    expect(entries(page).map(({ position }) => position)).to.deep.equal(all.slice(-3, -1));
    const none = await get(`?after=${all[0]}`);
    expect([entries(none), cursor(none)]).to.deep.equal([
      [],
      { size: 10, before: null, after: all[0] },
    ]);
  });

  it("streams everything as lines of JSON, and as CSV that no spreadsheet runs", async () => {
    const issue = { token: bob.token, body: { title: '=1+"1"', description: "x" } };
    await app.post(`${project}/issue`, issue);
    const all = entries(await get("?size=200"));
    const lines = (await get("?format=jsonl")).text.trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line))).to.deep.equal(all);

    const csv = await get("?format=csv&kind=ISSUE");
    expect(csv.headers.get("content-disposition")).to.include("audit.csv");
    const [head, newest] = csv.text.split("\r\n");
    expect(head).to.match(/^position,occurredAt,type,/);
    expect(newest).to.include(`,"'=1+""1""",`);
  });

  it("is refused to those who are no administrators of it", async () => {
    expect((await get("", bob.token)).status).to.equal(403);
  });

  for (const query of [
    ...["before=x", "after=99999999999999999999", "kind=BUG", "since=now", "size=0"],
    ...["since=0000-01-01", "until=9999-12-31T23:59:59-14:00", "since=0001-01-01T00:00:00%2B14:00"],
  ])
    it(`rejects ${query}`, async () => {
      expect((await get(`?${query}`)).status).to.equal(422);
    });
});

describe("the audit of other places", () => {
  it("has everything for administrators of the instance", async () => {
    const answer = await app.get("/admin/audit?type=UserRegistered", { token: root.token });
    expect(entries(answer)).to.have.length(3);
    expect(entries(answer)[0]?.changes).to.deep.include({
      field: "passwordHash",
      after: "«secret»",
    });
    expect(answer.text).not.to.include("root@example.org");
  });

  it("has one's own account for everybody", async () => {
    const answer = await app.get("/user/audit?size=200", { token: bob.token });
    expect(types(answer)).to.include.members(["UserRegistered", "AccessTokenCreated"]);
    expect(types(answer)).not.to.include("IssueCreated");
    const others = entries(answer).filter(({ subject }) => subject.id === anna.id);
    expect(others).to.deep.equal([]);
  });

  it("has the members of a team and of a company", async () => {
    const { token } = anna;
    for (const kind of ["team", "company"]) {
      const body = { title: kind, alias: `the-${kind}`, isPrivate: true };
      expect((await app.post(`/${kind}`, { token, body })).status).to.equal(200);
      const member = { userAlias: "bob", role: "DEVELOPER" };
      const added = await app.post(`/${kind}/the-${kind}/member/invite`, { token, body: member });
      expect(added.status, added.text).to.be.within(200, 204);
      const answer = await app.get(`/${kind}/the-${kind}/audit?kind=MEMBER`, { token });
      expect(entries(answer)[0]).to.deep.include({
        type: "MemberAdded",
        subject: { kind: "MEMBER", id: bob.id, title: "bob" },
      });
    }
  });

  it("names who deleted a team and a company", async () => {
    const { token, id: userId } = anna;
    for (const [kind, type] of [
      ["team", "TeamDeleted"],
      ["company", "CompanyDeleted"],
    ] as const) {
      const body = { title: kind, alias: `gone-${kind}`, isPrivate: true };
      expect((await app.post(`/${kind}`, { token, body })).status).to.equal(200);
      expect((await app.delete(`/${kind}/gone-${kind}`, { token })).status).to.be.within(200, 204);
      const answer = await app.get(`/admin/audit?type=${type}`, { token: root.token });
      const [entry, ...others] = entries(answer);
      expect(entry?.actor).to.deep.include({ userId, alias: "anna" });
      expect(others).to.deep.equal([]);
    }
  });
});
