import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";

import { searchChange } from "../../../../src/workers/reference/commit-reference.ts";
import { startTestApp, type TestUser } from "../../../support/app/app.ts";
import { eventually } from "../../../support/app/eventually.ts";
import { expectOk, issueClient, type Json } from "../../../support/app/issue.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../../../support/git/git.ts";

const app = await startTestApp({ workers: true });
const anna = await app.givenUser("anna");
const boris = await app.givenUser("boris");
const dora = await app.givenUser("dora");
const forge = await app.givenProject(anna, "forge", { private: false });
await app.givenProject(anna, "hidden");
const issues = issueClient(app, anna, "anna/forge");
const hidden = issueClient(app, anna, "anna/hidden");
let copy: string;

before(async () => {
  copy = await workingCopy(await temporaryDirectory(), "copy");
  await commit(copy, "First");
  await push("main");
});

const push = (...refs: string[]) => {
  const remote = `${app.url.replace("//", `//anna:${anna.token}@`)}/project/anna/forge.git`;
  return git(copy, "push", "--quiet", "--force", remote, ...refs);
};

async function references(localId: unknown, by: TestUser = anna, query = "") {
  const at = `${issues.base}/issue/${localId}/references${query}`;
  const answer = expectOk(await app.get(at, { token: by.token }));
  const { referenceList } = answer["_embedded"] as { referenceList: Json[] };
  return { list: referenceList, total: (answer["page"] as Json)["totalElements"] };
}

const namesOf = async (localId: unknown, by?: TestUser) =>
  (await references(localId, by)).list.map(({ kind, title }) => `${kind} ${title}`);

const statusOf = async (localId: unknown) =>
  ((await issues.get(localId)).body["status"] as Json)["id"];

const closedOnce = (localId: unknown) =>
  eventually(async () => (await statusOf(localId)) === "CLOSED");

async function closings(id: unknown): Promise<Json[]> {
  const found: Json[] = [];
  for await (const { type, data } of app.deps.store.readStream(`issue-${id}`)) {
    if (type === "IssueClosedByCommit") found.push(data);
  }
  return found;
}

const note = (localId: unknown, text: string) =>
  app.post(`${issues.base}/issue-discussion/${localId}/create`, {
    token: anna.token,
    body: { note: text },
  });

describe("what names an issue", () => {
  it("is listed oldest first: issues by title and description, and notes", async () => {
    const { localId } = await issues.created();
    const first = await issues.created({ title: `After #${localId}`, description: `#${localId}` });
    const { id } = expectOk(await note(first["localId"], `Again #${localId}`));
    const { list, total } = await references(localId);
    const where = { projectAlias: "forge", userAlias: "anna", closes: false };
    const of = { localId: first["localId"], title: `After #${localId}`, ...where };
    expect(list).to.deep.equal([
      { kind: "ISSUE", id: first["id"], ...of },
      { kind: "NOTE", id, ...of },
    ]);
    expect(total).to.equal(2);
    expect((await references(localId, anna, "?size=1&page=1")).list).to.have.length(1);
  });

  it("follows the texts when they are edited and deleted", async () => {
    const { localId } = await issues.created();
    const other = await issues.created({ description: `See #${localId}` });
    const { id } = expectOk(await note(other["localId"], `#${localId}`));
    await issues.edited(other["localId"], { description: "Nothing" });
    expect(await namesOf(localId)).to.deep.equal(["NOTE Search"]);
    const edit = `${issues.base}/issue-discussion/${other["localId"]}/${id}/edit`;
    expectOk(await app.put(edit, { token: anna.token, body: { note: "Nothing" } }));
    expect(await namesOf(localId)).to.deep.equal([]);
    await issues.edited(other["localId"], { title: `Part of #${localId}` });
    expectOk(await note(other["localId"], `#${localId}`));
    expect(await namesOf(localId)).to.have.length(2);
    await issues.remove(other["localId"]);
    expect(await namesOf(localId)).to.deep.equal([]);
  });

  it("keeps its place when a text that goes on naming it is edited", async () => {
    const { localId } = await issues.created();
    const first = await issues.created({ title: "First", description: `#${localId}` });
    await issues.created({ title: "Second", description: `#${localId}` });
    await issues.edited(first["localId"], { title: "First", description: `Still #${localId}` });
    expect(await namesOf(localId)).to.deep.equal(["ISSUE First", "ISSUE Second"]);
    await issues.edited(first["localId"], { title: "First", description: "Nothing" });
    await issues.edited(first["localId"], { title: "First", description: `#${localId}` });
    expect(await namesOf(localId)).to.deep.equal(["ISSUE Second", "ISSUE First"]);
  });

  it("shows things of other projects only to those who may read them", async () => {
    const { localId } = await issues.created();
    await hidden.created({ title: "Secret", description: `Like anna/forge#${localId}` });
    await hidden.created({ title: "Own", description: `Like #${localId}` });
    expect(await namesOf(localId)).to.deep.equal(["ISSUE Secret"]);
    expect(await namesOf(localId, boris)).to.deep.equal([]);
    expect((await references(localId, boris)).total).to.equal(0);
    await hidden.invite("boris", "GUEST");
    expect(await namesOf(localId, boris)).to.deep.equal(["ISSUE Secret"]);
  });
});

describe("what names a commit", () => {
  it("is listed by its whole hash, as far as the caller may read it", async () => {
    const hash = await commit(copy, "Named", { "named.txt": "n" });
    await push("main");
    const named = await issues.created({ title: "Broken", description: `Since ${hash}` });
    await hidden.created({ title: "Secret", description: `Like ${hash}` });
    await issues.created({ title: "Short", description: `Not ${hash.slice(0, 12)}` });
    const listed = async (revision: string, by = anna) => {
      const at = `${issues.base}/commit/${revision}/references`;
      const answer = expectOk(await app.get(at, { token: by.token }));
      return (answer["_embedded"] as { referenceList: Json[] }).referenceList;
    };
    expect((await listed(hash)).map(({ title }) => title)).to.deep.equal(["Broken", "Secret"]);
    expect(await listed(hash.slice(0, 12), dora)).to.containSubset([
      { kind: "ISSUE", localId: named["localId"], closes: false },
    ]);
    expect(await listed(hash, dora)).to.have.length(1);
    const nowhere = `${issues.base}/commit/${"0".repeat(40)}/references`;
    expect((await app.get(nowhere, { token: anna.token })).status).to.equal(404);
  });
});

describe("closing words in commits", () => {
  it("close an issue once on the default branch, naming the commit", async () => {
    const { localId, id } = await issues.created();
    const hash = await commit(copy, `Mend the search\n\nFixes #${localId}.`, { "a.txt": "a" });
    await push("main:side");
    await eventually(async () => (await references(localId)).total === 1);
    expect((await references(localId)).list[0]).to.include({
      kind: "COMMIT",
      id: hash,
      title: "Mend the search",
      closes: true,
      localId: null,
    });
    expect(await statusOf(localId)).to.equal("OPEN");
    await push("main");
    await closedOnce(localId);
    expect(await closings(id)).to.containSubset([{ commitId: hash, closedById: anna.id }]);

    await issues.edited(localId, { status: { id: "OPEN" } });
    await push("main~1:main");
    await push("main");
    const last = await issues.created();
    await commit(copy, `Closes #${last["localId"]}`, { "b.txt": "b" });
    await push("main");
    await closedOnce(last["localId"]);
    expect(await statusOf(localId)).to.equal("OPEN");
    expect(await closings(id)).to.have.length(1);
  });

  it("are read as they stand, and the audit names who pushed and by what", async () => {
    const { localId, id } = await issues.created();
    const hash = await commit(copy, `\`Closes #${localId}\``, { "raw.txt": "r" });
    await push("main");
    await closedOnce(localId);
    const trail = await app.get(`${issues.base}/audit?subject=${id}&type=IssueClosedByCommit`, {
      token: anna.token,
    });
    const { auditEntryList } = expectOk(trail)["_embedded"] as { auditEntryList: Json[] };
    expect(auditEntryList).to.have.length(1);
    expect(auditEntryList[0]).to.containSubset({
      actor: { userId: anna.id, alias: "anna", via: "token" },
      changes: [{ field: "commitId", after: hash }],
    });
  });

  it("change nothing when a job runs again", async () => {
    const { localId } = await issues.created();
    await commit(copy, `Closes #${localId}`, { "c.txt": "c" });
    await push("main");
    await closedOnce(localId);
    const recorded = async (): Promise<number> => {
      let count = 0;
      for await (const { type } of app.deps.store.readAll()) {
        if (type === "CommitReferencesFound" || type === "IssueClosedByCommit") count += 1;
      }
      return count;
    };
    // Workers may still be at what was pushed earlier.
    let before = -1;
    await eventually(async () => {
      const last = before;
      before = await recorded();
      await delay(300);
      return before === last;
    });
    for (let revision = 0; revision < 20; revision += 1) {
      await searchChange(app.deps, forge.id, revision);
    }
    expect(await recorded()).to.equal(before);
  });

  it("close what has the project's own path or address, also beyond the twentieth of one commit", async () => {
    const [first, second, last] = [
      await issues.created(),
      await issues.created(),
      await issues.created(),
    ];
    const many = Array.from({ length: 30 }, (_, n) => `#${n + 1_000_000}`).join(", ");
    const [path, url] = ["Anna/forge", `${app.url}/project/anna/forge/issue`];
    const own = `${path}#${first["localId"]} and ${url}/${second["localId"]}`;
    await commit(copy, `Closes ${many}, ${own}, #${last["localId"]}`, { "own.txt": "o" });
    await push("main");
    for (const { localId } of [first, second, last]) await closedOnce(localId);
  });

  it("close no issues of other projects, deleted ones or ones that are over", async () => {
    const foreign = await hidden.created();
    const over = await issues.created({ status: { id: "COMPLETED" } });
    const gone = await issues.created();
    await issues.remove(gone["localId"]);
    const last = await issues.created();
    const words = `anna/hidden#${foreign["localId"]}, #${over["localId"]}, #${gone["localId"]}`;
    await commit(copy, `Closes ${words}, #999999999, #${last["localId"]}`, { "d.txt": "d" });
    await push("main");
    await closedOnce(last["localId"]);
    const { status } = (await hidden.get(foreign["localId"])).body as { status: Json };
    expect(status["id"]).to.equal("OPEN");
    expect(await statusOf(over["localId"])).to.equal("COMPLETED");
    expect((await issues.get(gone["localId"])).status).to.equal(404);
  });
});
