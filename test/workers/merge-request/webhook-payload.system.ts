import { expect } from "chai";

import { discussionStream } from "../../../src/events/merge-request/discussion.ts";
import { mergeRequestStream } from "../../../src/events/merge-request/merge-request.ts";
import { mergeRequestPayload } from "../../../src/workers/merge-request/webhook-payload.ts";
import { notificationOf } from "../../../src/workers/webhook/notification.ts";
import { startTestApp } from "../../support/app/app.ts";
import { git } from "../../support/git/git.ts";
import { type Json, mergeWorlds } from "../../support/git/merge-world.ts";

const app = await startTestApp();
const { people, world: newWorld } = await mergeWorlds(app);
const { anna, bob, carl } = people;
const deps = { ...app.deps, outbound: undefined as never, proxy: undefined as never };

/** What webhooks are sent of the events of a stream. */
async function sentOf(stream: string): Promise<Json[]> {
  const sent: Json[] = [];
  for await (const event of app.platform.store.readStream(stream)) {
    const notification = await notificationOf(event, deps);
    if (notification === undefined) continue;
    sent.push({ topic: notification.topic, ...(await notification.fields()) });
  }
  return sent;
}

const requirementNames = [
  "LAST_PIPELINE_SUCCESS",
  "WORK_NOT_IN_PROGRESS",
  "RIGHTS_TO_MERGE",
  "NO_CONFLICTS",
  "BRANCH_NOT_PROTECTED_FOR_USER",
  "HAS_ALL_APPROVERS",
  "HAS_ALL_CODEOWNERS",
  "MERGE_RESULTS_PIPELINE_SUCCESS",
];

describe("what webhooks are sent of merge requests", () => {
  it("is the request as each event left it, with every documented field", async () => {
    const world = await newWorld();
    const { id } = await world.open();
    const feature = await git(world.copy, "rev-parse", "feature");
    const [created] = await sentOf(mergeRequestStream(String(id)));
    const request = {
      id,
      local_id: 1,
      user_id: anna.id,
      author_username: "anna",
      title: "Feature",
      description: "What it does",
      status: "OPENED",
      status_title: "Open",
      source_project_id: world.project.id,
      source_commit: feature,
      source_branch: "feature",
      target_project_id: world.project.id,
      target_branch: "main",
      url: `${app.url}${world.at("/merge-request/1")}`,
      can_merge: true,
    };
    const requirements = Object.fromEntries(requirementNames.map((name) => [name, true]));
    expect(created).to.deep.equal({
      topic: "MERGE_REQUEST_CREATE",
      merge_request: request,
      merge_requirements: requirements,
    });

    await world.put(bob, "/merge-request/1", { title: "Draft: Feature" });
    await world.put(bob, "/merge-request/1", { title: "Feature" });
    await world.post(bob, "/merge-request/1/approve");
    await world.post(anna, "/merge-request/1/close");
    await world.post(anna, "/merge-request/1/reopen");
    const moved = await world.push("feature", { "more.txt": "m\n" });
    await world.get(anna, "/merge-request/1");
    const merged = await world.post(bob, "/merge-request/1/merge");
    expect(merged.status, merged.text).to.equal(200);
    const sent = await sentOf(mergeRequestStream(String(id)));
    const [annas, bobs] = [anna, bob].map(({ id, alias }) => ({ id, name: alias }));
    const payloads = sent.map(({ topic, merge_request, initiator }) => {
      const { title, status, source_commit } = merge_request as Json;
      return [topic, title, status, source_commit, initiator];
    });
    expect(payloads).to.deep.equal([
      ["MERGE_REQUEST_CREATE", "Feature", "OPENED", feature, undefined],
      ["MERGE_REQUEST_UPDATE", "Draft: Feature", "OPENED", feature, bobs],
      ["MERGE_REQUEST_UPDATE", "Feature", "OPENED", feature, bobs],
      ["MERGE_REQUEST_ACCEPT", "Feature", "OPENED", feature, bobs],
      ["MERGE_REQUEST_CLOSE", "Feature", "CLOSED", feature, annas],
      ["MERGE_REQUEST_UPDATE", "Feature", "OPENED", feature, annas],
      ["MERGE_REQUEST_UPDATE", "Feature", "OPENED", moved, annas],
      ["MERGE", "Feature", "MERGED", moved, bobs],
    ]);
    const able = sent.map(({ merge_request, merge_requirements }) => {
      const names = Object.entries(merge_requirements as Json).filter(
        ([, isMet]) => isMet !== true,
      );
      return [names.map(([name]) => name), (merge_request as Json)["can_merge"]];
    });
    const open = [[], true];
    expect(able).to.deep.equal([
      open,
      [["WORK_NOT_IN_PROGRESS"], false],
      open,
      open,
      [[], false],
      open,
      open,
      [[], false],
    ]);
    const head = (await world.refs()).get("refs/heads/main");
    expect(sent.at(-1)).to.include({ merge_commit: head });
    expect((sent.at(-1)!["merge_request"] as Json)["status_title"]).to.equal("Merged");
  });

  it("reports cancelling, and what is sent again for this project alone", async () => {
    const [world, other] = [await newWorld(), await newWorld()];
    const { id } = await world.open({ title: "Draft: Feature" });
    await other.open();
    await world.post(anna, "/merge-request/1/cancel");
    const sent = await sentOf(mergeRequestStream(String(id)));
    // What held when it was canceled.
    const requirements = Object.fromEntries(requirementNames.map((name) => [name, true]));
    const drafted = { ...requirements, WORK_NOT_IN_PROGRESS: false };
    expect(sent.at(-1)!["merge_requirements"]).to.deep.equal(drafted);
    expect(sent.map(({ topic }) => topic)).to.deep.equal([
      "MERGE_REQUEST_CREATE",
      "MERGE_REQUEST_CANCEL",
    ]);
    expect(await mergeRequestPayload.streams(world.project.id, deps)).to.deep.equal([
      mergeRequestStream(String(id)),
    ]);
  });

  it("distinguishes first notes and replies", async () => {
    const world = await newWorld();
    await world.open();
    const at = "/merge-request/1/discussions";
    const line = { newLine: 1, oldLine: 1, newPath: "a.txt", oldPath: "a.txt" };
    const root = (await world.post(carl, `${at}/create`, { message: "Why?", ...line })).body;
    const reply = { discussionUuid: root["uuid"], message: "So." };
    const second = (await world.post(bob, `${at}/reply`, reply)).body;
    await world.post(bob, `${at}/resolve/${root["uuid"]}`);
    const sent = await sentOf(discussionStream(String(root["uuid"])));
    expect(sent.map(({ topic, discussion }) => ({ topic, discussion }))).to.deep.equal([
      {
        topic: "DISCUSSION_CREATE",
        discussion: {
          id: root["uuid"],
          root_id: null,
          message: "Why?",
          user_id: carl.id,
          user_alias: "carl",
          new_line: 1,
          old_line: 1,
          new_path: "a.txt",
          old_path: "a.txt",
        },
      },
      {
        topic: "DISCUSSION_COMMENT_CREATE",
        discussion: {
          id: second["uuid"],
          root_id: root["uuid"],
          message: "So.",
          user_id: bob.id,
          user_alias: "bob",
          new_line: null,
          old_line: null,
          new_path: null,
          old_path: null,
        },
      },
    ]);
    expect((sent[0]!["merge_request"] as Json)["local_id"]).to.equal(1);

    await world.post(anna, "/merge-request/1/close");
    const later = await sentOf(discussionStream(String(root["uuid"])));
    for (const { merge_request } of later) {
      expect(merge_request).to.include({ status: "OPENED", can_merge: true });
    }
  });
});
