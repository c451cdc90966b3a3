import { expect } from "chai";
import type { Answer } from "../../support/app/app.ts";
import { changes, changing } from "../../support/app/undo-changes.ts";
import { givenChanges } from "../../support/app/undone.ts";

const given = await givenChanges();
const { app, done, last, undo, undone, refused } = given;

describe("POST <P>/undo", () => {
  it("takes changes of labels, rules, variables and webhooks back, secrets included", async () => {
    await done("post", "/label", { title: "bug", description: "d", hexColor: "#112233" });
    const { subject } = (await last("LabelCreated")) as never as { subject: { id: string } };
    await done("put", `/label/${subject.id}`, { title: "defect", hexColor: "#445566" });
    expect(await undone("LabelEdited")).to.equal("LabelEdited");
    await done("delete", `/label/${subject.id}`);
    expect(await undone("LabelDeleted")).to.equal("LabelCreated");
    expect((await done("get", "/label")).text).to.include("#112233");

    const rule = { tagTemplate: "v*", allowToCreate: "ADMINS" };
    const { uuid } = (await done("post", "/tag-protection/create", rule)).body;
    await done("delete", `/tag-protection/${uuid}`);
    expect(await undone("ProtectionRuleDeleted")).to.equal("ProtectionRuleCreated");
    expect((await done("get", "/tag-protection")).text).to.include("v*");

    const variable = { key: "TOKEN", value: "abc-12345", mask: true };
    const { id } = (await done("post", "/setting/cicd/variable", variable)).body;
    await done("put", `/setting/cicd/variable/${id}`, { value: "xyz-98765" });
    expect(await undone("PipelineVariableChanged")).to.equal("PipelineVariableChanged");
    await done("delete", `/setting/cicd/variable/${id}`);
    expect(await undone("PipelineVariableDeleted")).to.equal("PipelineVariableCreated");
    expect((await done("get", "/setting/cicd/variable")).text).to.include("abc-12345");

    const hook = { url: "https://hooks.example.net/x", secret: "s3", events: { TAG_CREATE: true } };
    const made = (await done("post", "/setting/webhook", hook)).body["id"];
    await done("post", `/setting/webhook/${made}/delete`);
    expect(await undone("WebhookDeleted")).to.equal("WebhookCreated");
    expect((await done("get", "/setting/webhook")).text).to.match(/"secret":"s3"/);
  });

  it("takes changes of issues and comments back, unless they changed again", async () => {
    const issue = { title: "Bug", description: "x" };
    await done("post", "/issue", issue);
    await done("put", "/issue/1/edit", { ...issue, title: "One" });
    const first = await last("IssueEdited");
    await done("put", "/issue/1/edit", { ...issue, title: "Two" });
    await refused(first.eventId, /undo that first/);
    await undone("IssueEdited");
    expect((await done("get", "/issue/1")).body["title"]).to.equal("One");
    await done("post", "/issue-discussion/1/create", { note: "words" });
    expect(await undone("IssueCommentCreated")).to.equal("IssueCommentDeleted");
    expect(await undone("IssueCommentDeleted")).to.equal("IssueCommentCreated");
    await undone("IssueCreated");
    await refused((await last("IssueDeleted")).eventId, /never used again/);
  });

  it("takes changes of merge requests, discussions and releases back", async () => {
    const actions = [{ action: "CREATE", path: "c.txt", content: "c", encoding: "text" }];
    const commit = { branch: "side", startBranch: "main", message: "c", actions };
    await done("post", "/commit", commit);
    const branches = { sourceBranch: { id: "side" }, targetBranch: { id: "main" } };
    await done("post", "/merge-request", { title: "Side", ...branches });
    await done("post", "/merge-request/1/close");
    expect(await undone("MergeRequestClosed")).to.equal("MergeRequestReopened");
    expect(await undone("MergeRequestReopened")).to.equal("MergeRequestClosed");
    await undone("MergeRequestClosed");
    await done("post", "/merge-request/1/discussions/create", { message: "Why" });
    const { subject } = (await last("DiscussionStarted")) as never as { subject: { id: string } };
    await done("post", `/merge-request/1/discussions/resolve/${subject.id}`);
    expect(await undone("DiscussionResolved")).to.equal("DiscussionUnresolved");
    expect(await undone("DiscussionUnresolved")).to.equal("DiscussionResolved");
    expect(await undone("DiscussionStarted")).to.equal("DiscussionNoteDeleted");

    const release = { title: "One", tagName: "r1", branchName: "main" };
    const { id } = (await done("post", "/release", release)).body;
    await done("put", `/release/${id}`, { ...release, title: "Two" });
    expect(await undone("ReleaseEdited")).to.equal("ReleaseEdited");
    expect((await done("get", "/release")).text).to.include('"One"');
  });
});

describe("an undo", () => {
  const own = () => ({ token: given.anna.token });
  const known: Record<string, string> = {};

  /** Without when it was changed, and ids that are made anew. */
  const shown = async (at: string): Promise<unknown> => {
    const { status, text } = await app.get(at, own());
    expect(status, `${at}: ${text}`).to.equal(200);
    return JSON.parse(text, (key, value: unknown) =>
      ["updatedAt", "uuid", "lastCommit", "page", "editedAt"].includes(key) ? undefined : value,
    );
  };
  const sent = async (method: string, at: string, body?: object): Promise<Answer> => {
    const path = at.replaceAll(/\{(\w+)\}/g, (_, name: string) => known[name] ?? name);
    const answer = await app.send(method, path, { ...own(), ...(body && { body }) });
    expect(answer.status, `${method} ${path}: ${answer.text}`).to.be.within(200, 204);
    return answer;
  };

  before(async () => {
    for (const kind of ["team", "company"]) {
      const body = { title: kind, alias: `changing-${kind}`, isPrivate: true };
      expect((await app.post(`/${kind}`, { ...own(), body })).status).to.equal(200);
    }
    const { id } = await app.givenProject(given.anna, "changing", { private: false });
    known["project"] = id;
    const actions = [{ action: "CREATE", path: "a.txt", content: "a", encoding: "text" }];
    await sent("POST", `${changing}/commit`, { branch: "main", message: "a", actions });
    const more = { branch: "side", startBranch: "main", message: "b" };
    const other = [{ ...actions[0], path: "b.txt" }];
    await sent("POST", `${changing}/commit`, { ...more, actions: other });
    await sent("POST", `${changing}/branch`, { newBranch: "third", originBranch: "main" });
    const branches = { sourceBranch: { id: "side" }, targetBranch: { id: "main" } };
    await sent("POST", `${changing}/merge-request`, { title: "Side", ...branches });
    await sent("POST", `${changing}/issue`, { title: "Bug", description: "x" });
    const made = async (name: string, at: string, body: object): Promise<void> => {
      const answer = await sent("POST", changing + at, body);
      known[name] = String(answer.body["id"] ?? answer.body["uuid"]);
    };
    await made("comment", "/issue-discussion/1/create", { note: "words" });
    await made("note", "/merge-request/1/discussions/create", { message: "Why" });
    await made("rule", "/tag-protection/create", { tagTemplate: "v*", allowToCreate: "ADMINS" });
    const approval = { targetBranch: "main", name: "Two eyes", minimalApprovals: 0 };
    const approvers = { allowedApproversUuid: [] };
    await made("approval", "/merge-request/approval/rule/create", { ...approval, ...approvers });
    const hook = { url: "https://hooks.example.net/a", secret: "s1", events: { MERGE: true } };
    await made("hook", "/setting/webhook", hook);
  });

  /** Bodies that name a thing that is made in `before`. */
  const named: Readonly<Record<string, () => object>> = {
    ProtectionRuleEdited: () => ({ uuid: known["rule"] }),
    ApprovalRuleEdited: () => ({ uuid: known["approval"] }),
    DiscussionReplied: () => ({ discussionUuid: known["note"] }),
  };

  for (const { type, opposite = type, method, at, body, shows, place = changing } of changes) {
    it(`of ${type} shows what was before`, async () => {
      const was = await shown(shows);
      const given = body && { ...body, ...named[type]?.() };
      await sent(method, at, given);
      expect(await shown(shows), "changed").not.to.deep.equal(was);
      expect(await undone(type, place)).to.equal(opposite);
      expect(await shown(shows), "undone").to.deep.equal(was);
    });
  }

  it("of an alias is requested at the new one, and restores the old one", async () => {
    for (const [type, method, at, from, to] of [
      ["TeamAliasChanged", "PUT", "", "/team/changing-team", "/team/other-team"],
      ["CompanyAliasChanged", "PUT", "", "/company/changing-company", "/company/other-company"],
      ["ProjectAliasChanged", "PUT", "/setting/alias", changing, "/project/anna/other"],
    ] as const) {
      await sent(method, from + at, { alias: to.split("/").at(-1) });
      expect((await app.get(from, own())).status).to.equal(404);
      expect(await undone(type, to)).to.equal(type);
      expect((await app.get(from, own())).status).to.equal(200);
      expect((await app.get(to, own())).status).to.equal(404);
    }
  });

  it("of a restored project deletes it again", async () => {
    await sent("DELETE", "/project/{project}/delete");
    await sent("POST", "/project/{project}/restore");
    const { eventId } = await last("ProjectRestored", changing);
    const answer = await undo(eventId, given.anna.token, changing);
    expect([answer.status, answer.body["type"]]).to.deep.equal([200, "ProjectDeleted"]);
    expect((await app.get(changing, own())).status).to.equal(404);
  });
});
