import { expect } from "chai";
import { closeIssuesOf } from "../../../../src/workers/merge-request/close-issues.ts";
import { eventually } from "../../../support/app/eventually.ts";
import type { Json } from "../../../support/git/merge-world.ts";
import { givenNaming } from "../../../support/merge-request/naming.ts";

const given = await givenNaming();
const { app, anna, bob, carl, issueStatus, editIssue, closingCommits } = given;

async function references(of: string): Promise<readonly unknown[]> {
  const { body, text } = await given.world.get(bob, `${of}/references`);
  expect(body["_embedded"], text).to.be.an("object");
  const { referenceList } = body["_embedded"] as { referenceList: Json[] };
  return referenceList.map(({ kind, localId, closes }) => [kind, localId, closes]);
}

describe("what a merge request names", () => {
  it("closes issues of its own project once it is merged into the default branch", async () => {
    const path = `anna/${given.other.project.alias}`;
    const own = `anna/${given.world.project.alias}`;
    await given.world.open({
      description: `Fixes ${own}#1 and closes ${path}#1, closes #99999999999`,
    });
    expect(await references("/issue/1")).to.deep.equal([["MERGE_REQUEST", 1, true]]);
    expect((await given.world.post(bob, "/merge-request/1/merge")).status).to.equal(200);
    await eventually(async () => (await issueStatus(given.world)) === "CLOSED");
    expect(await issueStatus(given.other)).to.equal("OPEN");
    // Reopened, it stays open when the job runs again: the merge closes it once.
    await editIssue(given.world, { status: { id: "OPEN" } });
    const row = await app.deps
      .db("merge_request")
      .where({ project_id: given.world.project.id })
      .first();
    await closeIssuesOf(app.deps, row.id);
    expect(await issueStatus(given.world)).to.equal("OPEN");
    expect(await closingCommits()).to.have.length(1);
  });
});

describe("the description of a merge request", () => {
  const statusOf = async (localId: number) =>
    ((await given.world.get(anna, `/issue/${localId}`)).body["status"] as Json)["id"];
  async function merged(): Promise<void> {
    const answer = await given.world.post(bob, "/merge-request/1/merge");
    expect(answer.status, answer.text).to.equal(200);
  }

  it("closes nothing by a comment of its template or by code", async () => {
    const { world } = given;
    for (const title of ["Second", "Third", "Fourth"]) {
      await world.post(anna, "/issue", { title, description: "It fails" });
    }
    const mergeRequestDescriptionTemplate = "<!-- Link the issue, for example: Closes #3 -->\n";
    const setting = { mergeRequestDescriptionTemplate };
    expect((await world.put(anna, "/setting/merge-message", setting)).status).to.equal(200);
    const { description } = await world.open({ description: undefined });
    expect(description).to.include("Closes #3");
    const changed = `${description}\n\`Closes #2\`\n\n    Closes #4\n\nCloses #1`;
    await world.put(anna, "/merge-request/1", { description: changed });
    expect(await references("/issue/3")).to.deep.equal([]);
    await merged();
    // The first is closed after the others, in the order of the text.
    await eventually(async () => (await statusOf(1)) === "CLOSED");
    const others = await Promise.all([2, 3, 4].map(statusOf));
    expect(others).to.deep.equal(["OPEN", "OPEN", "OPEN"]);
  });

  it("closes the issue behind the words of a link, in the name of who merged", async () => {
    const { world } = given;
    const address = `${app.url}${world.at("/issue/1")}`;
    await world.open({ description: `Closes [the bug](${address})` });
    await merged();
    await eventually(async () => (await statusOf(1)) === "CLOSED");
    const { body } = await world.get(anna, "/audit?type=IssueClosedByCommit,MergeRequestMerged");
    const { auditEntryList } = body["_embedded"] as { auditEntryList: Json[] };
    const [closing, merge] = auditEntryList;
    const actor = { userId: bob.id, alias: "bob", via: "token" };
    expect(closing).to.deep.include({ type: "IssueClosedByCommit", actor });
    expect(closing).to.include({
      causationId: merge!["eventId"],
      correlationId: merge!["correlationId"],
    });
  });
});

describe("what names a merge request", () => {
  it("is listed as far as the caller may read it", async () => {
    await given.world.open();
    const at = "/merge-request/1/discussions";
    const root = (await given.world.post(carl, `${at}/create`, { message: "Like !1" })).body;
    const reply = { discussionUuid: root["uuid"], message: "see !1" };
    await given.world.post(bob, `${at}/reply`, reply);
    const hidden = `anna/${given.world.project.alias}!1`;
    await editIssue(given.other, { description: `as in ${hidden}` });
    await given.world.push("feature", { "more.txt": "m\n" });
    const all = [
      ["NOTE", 1, false],
      ["NOTE", 1, false],
      ["ISSUE", 1, false],
    ];
    expect(await references("/merge-request/1")).to.deep.equal(all);
    await app.delete(given.other.at("/member/bob"), { token: anna.token });
    expect(await references("/merge-request/1")).to.deep.equal(all.slice(0, 2));
    await given.world.delete(anna, `${at}/delete/${root["uuid"]}`);
    expect(await references("/merge-request/1")).to.deep.equal([]);
  });
});
