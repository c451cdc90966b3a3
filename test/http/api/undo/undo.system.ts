import { expect } from "chai";
import { Scope } from "../../../../src/events/token/access-token.ts";
import { type Answer, startTestApp, type TestUser } from "../../../support/app/app.ts";
import { changes, changing } from "../../../support/app/undo-changes.ts";

const app = await startTestApp();

type Entry = Readonly<{ eventId: string; type: string; causationId: string | null }>;

let anna: TestUser;
let bob: TestUser;
const project = "/project/anna/search";

before(async () => {
  anna = await app.givenUser("anna");
  bob = await app.givenUser("bob");
  await app.givenProject(anna, "search", { private: false });
  const actions = [{ action: "CREATE", path: "a.txt", content: "a", encoding: "text" }];
  await done("post", "/commit", { branch: "main", message: "a", actions });
});

/** Requests something in the project as anna, and gives the answer. */
async function done(method: "post" | "put" | "delete" | "get", at: string, body?: unknown) {
  const answer = await app[method](at.startsWith("/team") ? at : project + at, {
    token: anna.token,
    ...(body === undefined ? {} : { body }),
  });
  expect(answer.status, `${method} ${at}: ${answer.text}`).to.be.within(200, 204);
  return answer;
}

/** The newest event of a type. */
async function last(type: string, place = project): Promise<Entry> {
  const answer = await app.get(`${place}/audit?type=${type}&size=1`, { token: anna.token });
  const [entry] = (answer.body["_embedded"] as { auditEntryList: Entry[] }).auditEntryList;
  expect(entry, type).to.not.equal(undefined);
  return entry as Entry;
}

const undo = (eventId: string, token = anna.token, place = project): Promise<Answer> =>
  app.post(`${place}/undo`, { token, body: { eventId } });

async function undone(type: string, place = project): Promise<string> {
  const { eventId } = await last(type, place);
  // Ids are taken in any case.
  const answer = await undo(eventId.toUpperCase(), anna.token, place);
  expect(answer.status, answer.text).to.equal(200);
  expect(answer.body["causationId"]).to.equal(eventId);
  return String(answer.body["type"]);
}

async function refused(eventId: string, text: RegExp): Promise<void> {
  const { status, body } = await undo(eventId);
  expect([status, body["code"]]).to.deep.equal([409, "undo.impossible"]);
  expect(body["message"]).to.match(text);
}

describe("POST <P>/undo", () => {
  it("takes a setting back, and the undo as well", async () => {
    const title = async () => (await done("get", "")).body["title"];
    await done("put", "/setting/change-setting", { title: "Other" });
    expect(await undone("ProjectDetailsChanged")).to.equal("ProjectDetailsChanged");
    expect(await title()).to.equal("search");
    await undone("ProjectDetailsChanged");
    expect(await title()).to.equal("Other");
    await done("put", "/setting/visibility", { isPrivate: true });
    await undone("ProjectVisibilityChanged");
    expect((await done("get", "")).body["private"] ?? false).to.equal(false);
  });

  it("brings a branch and a tag back where they were, and says when it cannot", async () => {
    const { hash } = (await done("get", "/branch?branchName=main")).body["lastCommit"] as never;
    await done("post", "/branch", { newBranch: "work", originBranch: "main" });
    const made = await last("BranchCreated");
    const actions = [{ action: "CREATE", path: "b.txt", content: "b", encoding: "text" }];
    await done("post", "/commit", { branch: "work", message: "b", actions });
    await refused(made.eventId, /BranchUpdated .* changed it again/);
    await refused((await last("BranchUpdated")).eventId, /revert them/);

    await done("delete", "/branch?branchName=work");
    expect(await undone("BranchDeleted")).to.equal("BranchCreated");
    await done("get", "/branch?branchName=work");
    await refused((await last("BranchDeleted")).eventId, /./);

    await done("post", "/tag/create", { tagName: "v1", commitId: hash });
    await done("delete", "/tag/v1");
    expect(await undone("TagDeleted")).to.equal("TagCreated");
    expect(await undone("TagCreated")).to.equal("TagDeleted");
    await done("post", "/tag/create", { tagName: "v2", commitId: hash, message: "signed" });
    await done("delete", "/tag/v2");
    await refused((await last("TagDeleted")).eventId, /message and the signature/);
  });

  it("takes changes of members back", async () => {
    await done("post", "/member/invite", { userAlias: "bob", role: "DEVELOPER" });
    await done("put", "/member/role", { userAlias: "bob", role: "REPORTER" });
    expect(await undone("MemberRoleChanged")).to.equal("MemberRoleChanged");
    await done("delete", "/member/bob");
    expect(await undone("MemberRemoved")).to.equal("MemberAdded");
    expect((await done("get", "/member?q=bob")).text).to.include("DEVELOPER");
    expect(await undone("MemberAdded")).to.equal("MemberRemoved");
  });

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

  it("requires the rights of the opposite, and knows no events of other places", async () => {
    const body = { title: "team", alias: "the-team", isPrivate: true };
    await app.post("/team", { token: anna.token, body });
    await done("post", "/team/the-team/member/invite", { userAlias: "bob", role: "GUEST" });
    const { eventId } = await last("MemberAdded", "/team/the-team");
    expect((await undo(eventId)).status).to.equal(404);
    expect((await undo(eventId, bob.token, "/team/the-team")).status).to.equal(403);
    expect(await undone("MemberAdded", "/team/the-team")).to.equal("MemberRemoved");

    const scopes = Scope.options.filter((scope) => scope !== "PROJECT_WRITE");
    const token = await app.givenToken(anna.id, scopes);
    const label = await last("LabelCreated");
    const answer = await undo(label.eventId, token);
    expect([answer.status, answer.body["code"]]).to.deep.equal([403, "auth.scope_missing"]);
  });
});

describe("an undo of what was undone or changed again", () => {
  const place = "/project/anna/twice";
  const send = async (method: string, at: string, body?: object): Promise<Answer> => {
    const answer = await app.send(method, place + at, { token: anna.token, ...(body && { body }) });
    expect(answer.status, `${method} ${at}: ${answer.text}`).to.be.within(200, 204);
    return answer;
  };
  /** Id of the event that a request has appended. */
  const eventOf = async (type: string, method: string, at: string, body?: object) => {
    await send(method, at, body);
    return (await last(type, place)).eventId;
  };
  const codesOf = async (eventIds: readonly string[]) => {
    const answers = await Promise.all(eventIds.map((id) => undo(id, anna.token, place)));
    return answers.map(({ status }) => status).sort();
  };
  const blockedBy = async (eventId: string): Promise<string> => {
    const { status, body } = await undo(eventId, anna.token, place);
    expect([status, body["code"]]).to.deep.equal([409, "undo.impossible"]);
    return String(body["message"]);
  };

  before(async () => {
    await app.givenProject(anna, "twice", { private: false });
    const actions = [{ action: "CREATE", path: "a.txt", content: "a", encoding: "text" }];
    await send("POST", "/commit", { branch: "main", message: "a", actions });
    const more = { branch: "side", startBranch: "main", message: "b" };
    await send("POST", "/commit", { ...more, actions: [{ ...actions[0], path: "b.txt" }] });
    await send("POST", "/issue", { title: "Bug", description: "x" });
    const branches = { sourceBranch: { id: "side" }, targetBranch: { id: "main" } };
    await send("POST", "/merge-request", { title: "Side", ...branches });
  });

  const made: Readonly<Record<string, () => Promise<readonly [remove: string, at: string]>>> = {
    WebhookDeleted: async () => {
      const body = { url: "https://hooks.example.net/y", secret: "s3", events: { MERGE: true } };
      const { id } = (await send("POST", "/setting/webhook", body)).body;
      return ["POST", `/setting/webhook/${id}/delete`];
    },
    IssueCommentDeleted: async () => {
      const { id } = (await send("POST", "/issue-discussion/1/create", { note: "words" })).body;
      return ["DELETE", `/issue-discussion/1/${id}/delete`];
    },
    DiscussionNoteDeleted: async () => {
      const at = "/merge-request/1/discussions";
      const discussionUuid = (await send("POST", `${at}/create`, { message: "Why" })).body["uuid"];
      const reply = { discussionUuid, message: "Because" };
      const { uuid } = (await send("POST", `${at}/reply`, reply)).body;
      return ["DELETE", `${at}/delete/${uuid}`];
    },
    ApprovalRuleDeleted: async () => {
      const at = "/merge-request/approval/rule";
      const rule = { targetBranch: "main", name: "One", minimalApprovals: 0 };
      const body = { ...rule, allowedApproversUuid: [] };
      const { uuid } = (await send("POST", `${at}/create`, body)).body;
      return ["DELETE", `${at}/${uuid}`];
    },
    LabelDeleted: async () => {
      const label = { title: "bug", description: "d", hexColor: "#112233" };
      return ["DELETE", `/label/${(await send("POST", "/label", label)).body["id"]}`];
    },
  };
  for (const [type, make] of Object.entries(made)) {
    it(`of ${type} makes the thing anew once, however many request it`, async () => {
      const [method, at] = await make();
      const eventId = await eventOf(type, method, at);
      const others = Array.from({ length: 3 }, () => 409);
      expect(await codesOf(Array.from({ length: 4 }, () => eventId))).to.deep.equal([
        200,
        ...others,
      ]);
      expect(await blockedBy(eventId)).to.match(/took it back already/);
    });
  }

  it("keeps a later change of the same kind, and goes on once that was undone", async () => {
    const at = "/merge-request/1";
    const closed = await eventOf("MergeRequestClosed", "POST", `${at}/close`);
    await send("POST", `${at}/reopen`);
    const again = await eventOf("MergeRequestClosed", "POST", `${at}/close`);
    expect(await blockedBy(closed)).to.match(/MergeRequestClosed .* undo that first/);
    expect(await codesOf([again])).to.deep.equal([200]);
    expect(await blockedBy(closed)).to.not.match(/undo that first/);

    const title = (text: string) => ({ title: text, description: text });
    const edit = "/setting/change-setting";
    const first = await eventOf("ProjectDetailsChanged", "PUT", edit, title("One"));
    const second = await eventOf("ProjectDetailsChanged", "PUT", edit, title("Two"));
    expect(await blockedBy(first)).to.match(/undo that first/);
    expect(await codesOf([second])).to.deep.equal([200]);
    expect(await codesOf([first])).to.deep.equal([200]);
    expect((await send("GET", "")).body["title"]).to.equal("twice");
  });

  it("keeps the second membership of a user, and the role that it has", async () => {
    const invite = (role: string) => ({ userAlias: "bob", role });
    const added = await eventOf("MemberAdded", "POST", "/member/invite", invite("GUEST"));
    const role = await eventOf("MemberRoleChanged", "PUT", "/member/role", invite("ADMIN"));
    expect(await blockedBy(added)).to.match(/MemberRoleChanged .* undo that first/);
    await send("DELETE", "/member/bob");
    await send("POST", "/member/invite", invite("DEVELOPER"));
    expect(await blockedBy(added)).to.match(/MemberAdded .* undo that first/);
    expect(await blockedBy(role)).to.match(/MemberAdded .* undo that first/);
  });

  it("does not mind what was changed in another note of a discussion", async () => {
    const at = "/merge-request/1/discussions";
    const { uuid } = (await send("POST", `${at}/create`, { message: "Why" })).body;
    const reply = { discussionUuid: uuid, message: "Because" };
    const replied = (await send("POST", `${at}/reply`, reply)).body["uuid"];
    const message = { message: "other" };
    const edited = await eventOf("DiscussionNoteEdited", "PUT", `${at}/edit/${uuid}`, message);
    await send("PUT", `${at}/edit/${replied}`, message);
    expect(await codesOf([edited])).to.deep.equal([200]);
  });
});

describe("an undo", () => {
  const own = () => ({ token: anna.token });
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
    const { id } = await app.givenProject(anna, "changing", { private: false });
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
    const answer = await undo(eventId, anna.token, changing);
    expect([answer.status, answer.body["type"]]).to.deep.equal([200, "ProjectDeleted"]);
    expect((await app.get(changing, own())).status).to.equal(404);
  });
});
