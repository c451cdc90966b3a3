import { expect } from "chai";
import { Scope } from "../../../src/events/token/access-token.ts";
import type { Answer } from "../../support/app/app.ts";
import { givenChanges } from "../../support/app/undone.ts";

const given = await givenChanges();
const { app, done, last, undo, undone, refused } = given;

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

  it("requires the rights of the opposite, and knows no events of other places", async () => {
    const body = { title: "team", alias: "the-team", isPrivate: true };
    await app.post("/team", { token: given.anna.token, body });
    await done("post", "/team/the-team/member/invite", { userAlias: "bob", role: "GUEST" });
    const { eventId } = await last("MemberAdded", "/team/the-team");
    expect((await undo(eventId)).status).to.equal(404);
    expect((await undo(eventId, given.bob.token, "/team/the-team")).status).to.equal(403);
    expect(await undone("MemberAdded", "/team/the-team")).to.equal("MemberRemoved");

    const scopes = Scope.options.filter((scope) => scope !== "PROJECT_WRITE");
    const token = await app.givenToken(given.anna.id, scopes);
    const label = await last("LabelCreated");
    const answer = await undo(label.eventId, token);
    expect([answer.status, answer.body["code"]]).to.deep.equal([403, "auth.scope_missing"]);
  });
});

describe("an undo of what was undone or changed again", () => {
  const place = "/project/anna/twice";

  const send = async (method: string, at: string, body?: object): Promise<Answer> => {
    const answer = await app.send(method, place + at, {
      token: given.anna.token,
      ...(body && { body }),
    });
    expect(answer.status, `${method} ${at}: ${answer.text}`).to.be.within(200, 204);
    return answer;
  };

  /** Id of the event that a request has appended. */
  const eventOf = async (type: string, method: string, at: string, body?: object) => {
    await send(method, at, body);
    return (await last(type, place)).eventId;
  };

  const codesOf = async (eventIds: readonly string[]) => {
    const answers = await Promise.all(eventIds.map((id) => undo(id, given.anna.token, place)));
    return answers.map(({ status }) => status).sort();
  };

  const standing = async (eventId: string): Promise<string> => {
    const { status, body } = await undo(eventId, given.anna.token, place);
    expect([status, body["code"]]).to.deep.equal([409, "undo.impossible"]);
    return String(body["message"]);
  };

  before(async () => {
    await app.givenProject(given.anna, "twice", { private: false });
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
      expect(await standing(eventId)).to.match(/took it back already/);
    });
  }

  it("keeps a later change of the same kind, and goes on once that was undone", async () => {
    const at = "/merge-request/1";
    const closed = await eventOf("MergeRequestClosed", "POST", `${at}/close`);
    await send("POST", `${at}/reopen`);
    const again = await eventOf("MergeRequestClosed", "POST", `${at}/close`);
    expect(await standing(closed)).to.match(/MergeRequestClosed .* undo that first/);
    expect(await codesOf([again])).to.deep.equal([200]);
    expect(await standing(closed)).to.not.match(/undo that first/);

    const title = (text: string) => ({ title: text, description: text });
    const edit = "/setting/change-setting";
    const first = await eventOf("ProjectDetailsChanged", "PUT", edit, title("One"));
    const second = await eventOf("ProjectDetailsChanged", "PUT", edit, title("Two"));
    expect(await standing(first)).to.match(/undo that first/);
    expect(await codesOf([second])).to.deep.equal([200]);
    expect(await codesOf([first])).to.deep.equal([200]);
    expect((await send("GET", "")).body["title"]).to.equal("twice");
  });

  it("keeps the second membership of a user, and the role that it has", async () => {
    const invite = (role: string) => ({ userAlias: "bob", role });
    const added = await eventOf("MemberAdded", "POST", "/member/invite", invite("GUEST"));
    const role = await eventOf("MemberRoleChanged", "PUT", "/member/role", invite("ADMIN"));
    expect(await standing(added)).to.match(/MemberRoleChanged .* undo that first/);
    await send("DELETE", "/member/bob");
    await send("POST", "/member/invite", invite("DEVELOPER"));
    expect(await standing(added)).to.match(/MemberAdded .* undo that first/);
    expect(await standing(role)).to.match(/MemberAdded .* undo that first/);
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
