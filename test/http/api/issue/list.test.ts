import { expect } from "chai";

import { startTestApp } from "../../../support/app/app.ts";
import { issueClient } from "../../../support/app/issue.ts";
import { ratio } from "../../../support/app/measure.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");
const boris = await app.givenUser("boris");
await app.givenProject(anna, "forge", { private: false });
await app.givenProject(anna, "other", { private: false });

const forge = issueClient(app, anna, "anna/forge");
const other = issueClient(app, anna, "anna/other");
let middle: string;

/** 1: anna's, bug; 2: boris', bug and docs, for anna; 3: closed; 4: deleted; 5: 100 % done. */
before(async () => {
  for (const title of ["bug", "docs"]) {
    await forge.label({ title });
    await other.label({ title });
  }
  const of = (body: object) => ({ description: "none", ...body });
  await forge.created(of({ title: "Search is slow", labels: [{ id: "bug" }] }));
  const labels = [{ id: "bug" }, { id: "docs" }];
  await forge.created(of({ title: "Explain", labels, assignedUsers: [{ id: anna.id }] }), boris);
  const { updatedAt } = await forge.created(of({ title: "Old", status: { id: "CLOSED" } }));
  middle = String(updatedAt);
  await forge.created(of({ title: "Mistake" }));
  await forge.remove(4);
  await forge.created(of({ title: "Index", description: "100% done, see a_b\\c" }));
  await other.created(of({ title: "Search elsewhere", labels: [{ id: "bug" }] }));
});

describe("the issues of a project", () => {
  it("are listed newest first, in pages, without deleted ones and those of other projects", async () => {
    const all = await forge.list();
    expect(all.ids).to.deep.equal([5, 3, 2, 1]);
    expect(all.page).to.deep.equal({ size: 10, totalElements: 4, totalPages: 1, number: 0 });
    const second = await forge.list("?size=3&page=1");
    expect(second.ids).to.deep.equal([1]);
    expect(second.page).to.include({ totalElements: 4, totalPages: 2 });
    expect(all.issues[0]).to.deep.equal((await forge.get(5)).body);
  });

  it("are counted by one statement", async () => {
    const statements: string[] = [];
    const note = ({ sql }: Readonly<{ sql: string }>): unknown => statements.push(sql);
    app.deps.db.on("query", note);
    await forge.list("?status=OPEN");
    app.deps.db.off("query", note);
    expect(statements.filter((sql) => sql.includes("issue_total"))).to.have.length(1);
  });

  for (const [query, ids] of [
    ["status=OPEN", [5, 2, 1]],
    ["status=CLOSED", [3]],
    ["status=COMPLETED", []],
    ["status=OPEN&status=CLOSED", [5, 3, 2, 1]],
    ["status=CLOSED,%20COMPLETED", [3]],
    ["status=&status=CLOSED&author=anna", [3]],
    ["status=,", [5, 3, 2, 1]],
    ["label=bug", [2, 1]],
    ["label=BUG&label=docs", [2]],
    ["label=unknown", []],
    ["label=bug&label=unknown", []],
    ["assignee=anna", [2]],
    ["assignee=boris", []],
    ["assignee=nobody", []],
    ["author=boris", [2]],
    ["author=Anna&status=OPEN", [5, 1]],
    ["q=SEARCH", [1]],
    ["q=100%25", [5]],
    ["q=a_b", [5]],
    ["q=aXb", []],
    ["q=b%5Cc", [5]],
    ["q=none&label=bug", [2, 1]],
    ["sort=created&order=asc", [1, 2, 3, 5]],
    ["sort=updated&order=asc&author=anna", [1, 3, 5]],
  ] as const) {
    it(`are filtered by ${query}`, async () => {
      const { ids: found, page } = await forge.list(`?${query}`);
      expect(found).to.deep.equal(ids);
      expect(page["totalElements"]).to.equal(ids.length);
    });
  }

  it("are filtered by ids of people and labels", async () => {
    const [label] = (await forge.get(2)).body["labels"] as { id: string }[];
    const query = `?assignee=${anna.id}&author=${boris.id}&label=${label?.id}`;
    expect((await forge.list(query)).ids).to.deep.equal([2]);
    const [foreign] = (await other.get(1)).body["labels"] as { id: string }[];
    expect((await forge.list(`?label=${foreign?.id}`)).ids).to.deep.equal([]);
  });

  it("are filtered and sorted by their last change", async () => {
    const after = encodeURIComponent(middle);
    expect((await forge.list(`?updatedAfter=${after}`)).ids).to.deep.equal([5]);
    await forge.edited(1, { title: "Search is slow", status: { id: "IN_PROGRESS" } });
    expect((await forge.list(`?updatedAfter=${after}`)).ids).to.deep.equal([5, 1]);
    const today = middle.slice(0, 10);
    expect((await forge.list(`?updatedAfter=${today}`)).ids).to.deep.equal([5, 3, 2, 1]);
    expect((await forge.list("?updatedAfter=2999-01-01")).ids).to.deep.equal([]);
    expect((await forge.list("?sort=updated")).ids).to.deep.equal([1, 5, 3, 2]);
    expect((await forge.list("?status=OPEN")).page).to.include({ totalElements: 2 });
  });

  it("are changed by what is said about them", async () => {
    const after = String((await forge.list("?sort=updated")).issues[0]!["updatedAt"]);
    const at = `${forge.base}/issue-discussion/3/create`;
    await app.post(at, { token: boris.token, body: { note: "Still there" } });
    expect((await forge.list("?sort=updated")).ids).to.deep.equal([3, 1, 5, 2]);
    expect((await forge.list(`?updatedAfter=${after}`)).ids).to.deep.equal([3]);
  });

  it("are found in the same way in a project of very many", async () => {
    const project_id = app.deps.db("project").where("alias", "forge").select("id");
    const total = { project_id, status: "COMPLETED", total: 1_000_000 };
    await app.deps.db("issue_total").insert(total);
    for (const [query, ids] of [
      ["q=100%25", [5]],
      ["q=a_b", [5]],
      ["q=SEARCH&status=IN_PROGRESS", [1]],
      ["assignee=anna", [2]],
      ["assignee=boris", []],
      ["q=&status=IN_PROGRESS&label=", [1]],
    ] as const) {
      expect((await forge.list(`?${query}`)).ids, query).to.deep.equal(ids);
    }
    await app.deps.db("issue_total").where({ total: 1_000_000 }).delete();
  });

  it("are found by words in another case and form", async () => {
    const words = { title: "Der Weg: ΟΔΟΣ", description: "Cafe\u0301 in İstanbul" };
    const { localId } = await other.created(words);
    for (const part of ["weg: οδός".replace("ό", "ο"), "οδοσ", "CAFÉ", "istanbul", "caf\u00e9"]) {
      const { ids } = await other.list(`?q=${encodeURIComponent(part)}`);
      expect(ids, part).to.deep.equal([localId]);
    }
    expect((await other.list(`?q=${encodeURIComponent("cafe ")}`)).ids).to.deep.equal([]);
  });

  it("take a time for a search that does not grow with the length of what is looked for", async () => {
    await app.givenProject(anna, "long", { private: false });
    const long = issueClient(app, anna, "anna/long");
    const description = "a".repeat(60_000);
    for (let n = 0; n < 10; n += 1) await long.created({ title: `Long ${n}`, description });
    const search = (q: string) => async () => expect((await long.list(`?q=${q}`)).ids).to.be.empty;
    const [hard, plain] = [search(`${"a".repeat(250)}b`), search("zzz")];
    await hard();
    expect(await ratio(hard, plain, 3)).to.be.below(4);
  });

  it("refuse filters that are malformed", async () => {
    for (const query of [
      "status=DONE",
      "status=OPEN,DONE",
      "sort=title",
      "order=up",
      "updatedAfter=yesterday",
      `q=${"x".repeat(256)}`,
      Array(21).fill("label=bug").join("&"),
      "q=a&q=b",
    ]) {
      const answer = await app.get(`${forge.base}/issue?${query}`, { token: anna.token });
      expect(answer.status, query).to.equal(422);
    }
  });
});
