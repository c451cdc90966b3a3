import { expect } from "chai";

import { startTestApp, type TestUser } from "../../../support/app/app.ts";

const app = await startTestApp();
const project = "/project/anna/search";
let anna: TestUser;
let labels: readonly Readonly<{ id: unknown }>[];

before(async () => {
  anna = await app.givenUser("anna");
  await app.givenProject(anna, "search");
  const { id } = await send("post", "/label", { title: "gone", hexColor: "#00ff00" });
  labels = [{ id }];
});

async function send(method: "post" | "put" | "delete" | "get", at: string, body?: unknown) {
  const order = { token: anna.token, ...(body === undefined ? {} : { body }) };
  const answer = await app[method](project + at, order);
  expect(answer.status, `${method} ${at}: ${answer.text}`).to.be.within(200, 204);
  return answer.body;
}

async function last(type: string): Promise<string | undefined> {
  const { _embedded } = await send("get", `/audit?type=${type}&size=1`);
  const [entry] = (_embedded as { auditEntryList: { eventId: string }[] }).auditEntryList;
  return entry?.eventId;
}

async function undoLast(type: string): Promise<void> {
  await send("post", "/undo", { eventId: await last(type) });
}

async function labelNamed(title: string): Promise<unknown> {
  const { _embedded } = await send("get", "/label");
  const { labelList = [] } = _embedded as Record<string, { id: string; title: string }[]>;
  return labelList.find((label) => label.title === title)?.id;
}

const commit = (branch: string, path: string) => ({
  ...{ branch, message: path },
  actions: [{ action: "CREATE", path, content: path, encoding: "text" }],
});

/** An issue or merge request with labels; its number. */
async function givenThing(thing: string, own: readonly object[]): Promise<unknown> {
  const body = { title: "T", description: "x", labels: own };
  if (thing === "issue") return (await send("post", "/issue", body))["localId"];
  await send("post", "/commit", { ...commit("other", "c.txt"), startBranch: "main" });
  const branches = { sourceBranch: { id: "other" }, targetBranch: { id: "main" } };
  return (await send("post", "/merge-request", { ...body, ...branches }))["localId"];
}

describe("an undo of an edit", () => {
  it("reverts what was edited, where a label that stayed was deleted since", async () => {
    const issue = await send("post", "/issue", { title: "Bug", description: "x", labels });
    await send("post", "/commit", commit("main", "a.txt"));
    await send("post", "/commit", { ...commit("side", "b.txt"), startBranch: "main" });
    const branches = { sourceBranch: { id: "side" }, targetBranch: { id: "main" } };
    const opened = await send("post", "/merge-request", { title: "Side", labels, ...branches });
    const ofIssue = `/issue/${issue["localId"]}`;
    const ofRequest = `/merge-request/${opened["localId"]}`;
    await send("put", `${ofIssue}/edit`, { title: "Bug!", description: "x" });
    await send("put", ofRequest, { title: "Side!" });
    await send("delete", `/label/${labels[0]?.id}`);

    await undoLast("IssueEdited");
    expect((await send("get", ofIssue))["title"]).to.equal("Bug");
    await undoLast("MergeRequestEdited");
    expect((await send("get", ofRequest))["title"]).to.equal("Side");
  });

  it("of an issue names the deletion of the issue", async () => {
    const { localId } = await send("post", "/issue", { title: "Short", description: "x" });
    await send("put", `/issue/${localId}/edit`, { title: "Long", description: "x" });
    const eventId = await last("IssueEdited");
    await send("delete", `/issue/${localId}/delete`);
    const undo = { token: anna.token, body: { eventId } };
    const { status, body, text } = await app.post(`${project}/undo`, undo);
    expect([status, body["message"]], text).to.deep.equal([409, "The issue was deleted."]);
  });

  for (const { thing, type, edit } of [
    { thing: "issue", type: "IssueEdited", edit: "/edit" },
    { thing: "merge-request", type: "MergeRequestEdited", edit: "" },
  ]) {
    it(`names the deletion of a label that it would set at ${thing}`, async () => {
      const label = { title: `Gone from ${thing}`, hexColor: "#00ff00" };
      const { id } = await send("post", "/label", label);
      const localId = await givenThing(thing, [{ id }]);
      const at = `/${thing}/${localId}`;
      await send("put", at + edit, { title: "T", description: "x", labels: [] });
      const edited = await last(type);
      await send("delete", `/label/${id}`);
      const deleted = await last("LabelDeleted");

      const refused = await app.post(`${project}/undo`, {
        token: anna.token,
        body: { eventId: edited },
      });
      expect(refused.status).to.equal(409);
      expect(refused.body["message"]).to.match(/LabelDeleted .* deleted the label "Gone from/);
      expect(refused.body["eventId"]).to.equal(deleted);

      await send("post", "/undo", { eventId: refused.body["eventId"] });
      const anew = await labelNamed(label.title);
      const renamed = { title: `Again at ${thing}`, hexColor: "#00ff00" };
      await send("put", `/label/${anew}`, renamed);
      await send("post", "/undo", { eventId: edited });
      const { labels: present } = await send("get", at);
      expect(present).to.have.lengthOf(1);
      expect((present as object[])[0]).to.include({ id: anew, title: renamed.title });
    });
  }
});
