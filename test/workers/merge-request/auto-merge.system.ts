import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { handle } from "../../../src/commands/core/handle.ts";
import { mergeRequest } from "../../../src/commands/merge-request/merge-request.ts";
import { ProjectId } from "../../../src/events/core/ids.ts";
import { findMergeRequest } from "../../../src/projections/merge-request/merge-request-query.ts";
import { findProjectById } from "../../../src/projections/project/project.ts";
import { merge } from "../../../src/services/merge-request/merge.ts";
import { closeIssuesOf } from "../../../src/workers/merge-request/close-issues.ts";
import { mergeRequestPushWorker } from "../../../src/workers/merge-request/push-option.ts";
import { searchChange } from "../../../src/workers/reference/commit-reference.ts";
import type { TestUser } from "../../support/app/app.ts";
import { metadataFor } from "../../support/app/history.ts";
import { commit, git } from "../../support/git/git.ts";
import { idOf } from "../../support/git/merge-world.ts";
import { givenAutoMerge } from "../../support/merge-request/auto-merge.ts";

const given = await givenAutoMerge();
const { app, anna, bob, deps, configure, wait, view, look } = given;

/** What a system outside says of the source commit. */
async function status(value: string, name = "outside"): Promise<void> {
  const row = await findMergeRequest(app.deps.db, given.world.project.id, 1);
  const hash = row?.source_commit;
  const answer = await given.world.post(bob, `/commit/${hash}/status`, { name, status: value });
  expect(answer.status, answer.text).to.equal(200);
}

describe("merging when the pipeline succeeds", () => {
  it("waits for every status of the source commit, and merges once all have passed", async () => {
    await status("RUNNING");
    expect((await view())["mergeRequirements"]).to.include({ LAST_PIPELINE_SUCCESS: false });
    await wait();
    await status("SUCCESS");
    await status("RUNNING", "second");
    await look();
    expect(idOf((await view())["status"])).to.equal("OPENED");
    await status("SUCCESS", "second");
    expect((await view())["mergeRequirements"]).to.include({ LAST_PIPELINE_SUCCESS: true });
    await look();
    expect(idOf((await view())["status"])).to.equal("MERGED");
  });

  it("ends without a merge when a pipeline fails, even one that is not demanded", async () => {
    await configure({ checkCiCdStatus: false });
    await status("RUNNING");
    expect((await wait()).body).to.include({ mergeWhenPipelineSucceeds: true });
    await status("FAILED");
    await look();
    const after = await view();
    expect(after).to.include({ mergeWhenPipelineSucceeds: false });
    expect(idOf(after["status"])).to.equal("OPENED");
  });

  it("takes the pipeline of the source for that of the result while it is up to date", async () => {
    await configure({ mergeResultPipelineStatusCheckEnabled: true });
    await status("SUCCESS");
    const met = async () => (await view())["mergeRequirements"];
    expect(await met()).to.include({ MERGE_RESULTS_PIPELINE_SUCCESS: true });
    await given.world.push("main", { "other.txt": "o\n" });
    const behind = { LAST_PIPELINE_SUCCESS: true, MERGE_RESULTS_PIPELINE_SUCCESS: false };
    expect(await met()).to.include(behind);
  });

  it("goes on waiting while another merge of the request is under way", async () => {
    await wait();
    const row = (await findMergeRequest(app.deps.db, given.world.project.id, 1))!;
    const begin = {
      type: "BeginMerge",
      ...{ mergeId: randomUUID(), strategy: "REBASE" as const, targetBranch: "main" },
      ...{ targetBefore: row.source_commit, sourceCommit: row.source_commit },
      ...{ mergeCommit: row.source_commit, removeSourceBranch: false },
      judged: { title: row.title, workInProgress: false, rules: null, approverIds: [] },
      ...{ projectId: ProjectId.parse(row.project_id), by: bob.id, at: new Date().toISOString() },
    } as const;
    const order = { id: row.id, command: begin, metadata: metadataFor(randomUUID()) };
    await app.deps.visible((await handle(app.deps.store, mergeRequest, order)).position);
    await configure({ checkCiCdStatus: false });
    await look();
    expect(await view()).to.include({ mergeWhenPipelineSucceeds: true });
  });
});

describe("what is done in the name of a person who was banned meanwhile", () => {
  let root: TestUser;
  before(async () => {
    root = await app.givenUser("root", { admin: true });
  });
  const account = async (verb: string) =>
    expect(
      (await app.post(`/admin/user/${bob.id}/account/${verb}`, { token: root.token })).status,
    ).to.equal(200);
  beforeEach(() => configure({ checkCiCdStatus: false }));
  afterEach(() => account("unban"));

  const issueStatus = async () => idOf((await given.world.get(anna, "/issue/1")).body["status"]);
  const createIssue = () =>
    given.world.post(anna, "/issue", { title: "Bug", description: "It does not work" });

  it("is neither the end of the source branch nor of issues after their merge", async () => {
    await createIssue();
    await given.world.put(anna, "/merge-request/1", { description: "Closes #1" });
    const row = (await findMergeRequest(app.deps.db, given.world.project.id, 1))!;
    let banned = false;
    const visible: typeof app.deps.visible = async (position) => {
      await app.deps.visible(position);
      const { status } = (await findMergeRequest(app.deps.db, given.world.project.id, 1))!;
      if (banned || status !== "MERGED") return;
      banned = true;
      await account("ban");
    };
    const messages = { mergeCommitMessage: null, squashCommitMessage: null };
    await merge(
      { ...app.deps, visible },
      {
        mergeRequestId: row.id,
        project: (await findProjectById(app.deps.db, given.world.project.id))!,
        ...{ role: "DEVELOPER", userId: bob.id, metadata: byBob() },
        choice: { strategy: "MERGE_COMMIT", removeSourceBranch: true, ...messages },
      },
    );
    await closeIssuesOf(app.deps, row.id);
    expect(idOf((await view())["status"])).to.equal("MERGED");
    expect([...(await given.world.refs()).keys()]).to.include("refs/heads/feature");
    expect(await issueStatus()).to.equal("OPEN");
    await account("unban");
    await closeIssuesOf(app.deps, row.id);
    expect(await issueStatus()).to.equal("CLOSED");
  });

  it("is no end of issues that commits of theirs name", async () => {
    await createIssue();
    await commit(given.world.copy, "Closes #1", { "c.txt": "c\n" });
    await git(given.world.copy, "push", "--quiet", given.world.remote(bob), "HEAD:main");
    const revision = (await given.world.recordedChanges()).findLastIndex((line) =>
      line.endsWith("main by bob"),
    );
    expect(revision).to.be.greaterThan(0);
    await account("ban");
    const search = async () => {
      await searchChange(app.deps, given.world.project.id, revision);
      await app.deps.visible(await app.head());
    };
    await search();
    expect(await issueStatus()).to.equal("OPEN");
    await account("unban");
    await search();
    expect(await issueStatus()).to.equal("CLOSED");
  });

  it("is no merge request that their push requested", async () => {
    const [branch] = await given.world.branch({ "pushed.txt": "p\n" });
    const mergeRequest = {
      ...{ target: null, title: "Pushed", draft: false, removeSourceBranch: null },
      mergeWhenPipelineSucceeds: false,
    };
    const push = { ciSkip: true, ciVariables: null, mergeRequest };
    const { id: projectId } = given.world.project;
    const position = String(await app.head());
    const job = { projectId, branch, eventId: randomUUID(), position };
    const run = () =>
      mergeRequestPushWorker.runJob(
        { ...job, metadata: { ...byBob(), push } },
        deps,
        new AbortController().signal,
      );
    await account("ban");
    await run();
    expect(await findMergeRequest(app.deps.db, projectId, 2)).to.equal(undefined);
    await account("unban");
    await run();
    expect(await findMergeRequest(app.deps.db, projectId, 2)).to.include({ title: "Pushed" });
  });

  const byBob = () =>
    metadataFor(randomUUID(), {
      actor: { userId: bob.id, alias: "bob", via: "token", tokenId: null },
    });
});
