import { expect } from "chai";

import { startTestApp, type TestUser } from "../../support/app.ts";

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

async function undoLast(type: string): Promise<void> {
  const { _embedded } = await send("get", `/audit?type=${type}&size=1`);
  const [entry] = (_embedded as { auditEntryList: { eventId: string }[] }).auditEntryList;
  await send("post", "/undo", { eventId: entry?.eventId });
}

describe("an undo of an edit", () => {
  it("reverts what was edited, where a label that stayed was deleted since", async () => {
    const issue = await send("post", "/issue", { title: "Bug", description: "x", labels });
    const commit = (branch: string, path: string) => ({
      ...{ branch, message: path },
      actions: [{ action: "CREATE", path, content: path, encoding: "text" }],
    });
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
});
