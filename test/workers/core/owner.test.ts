import { randomUUID } from "node:crypto";
import { expect } from "chai";
import type { Worker } from "../../../src/workers/core/worker.ts";
import { autoMergeWorker } from "../../../src/workers/merge-request/auto-merge.ts";
import { mergeCheckWorker } from "../../../src/workers/merge-request/merge-check.ts";
import { mergeRequestMergeWorker } from "../../../src/workers/merge-request/merge-record.ts";
import { mergeRequestHeadWorker } from "../../../src/workers/merge-request/number.ts";
import { mergeRequestPushWorker } from "../../../src/workers/merge-request/push-option.ts";
import { mergeRequestSourceWorker } from "../../../src/workers/merge-request/source-move.ts";
import { projectForkWorker } from "../../../src/workers/project/fork.ts";
import { mirrorSyncWorker } from "../../../src/workers/project/mirror-sync.ts";
import { commitReferenceWorker } from "../../../src/workers/reference/commit-reference.ts";
import { pushCountWorker } from "../../../src/workers/user/push-count.ts";
import { webhookReplayWorker } from "../../../src/workers/webhook/replay.ts";
import { startTestApp } from "../../support/app/app.ts";
import { eventually } from "../../support/app/eventually.ts";
import { metadataFor } from "../../support/app/history.ts";
import { givenWebhook } from "../../support/client/webhook-order.ts";
import { mergeWorlds } from "../../support/git/merge-world.ts";

const app = await startTestApp();
const { people, world: newWorld } = await mergeWorlds(app);
const deps = { ...app.deps, outbound: undefined as never, proxy: undefined as never };
const never = new AbortController().signal;

type Place = Readonly<{ projectId: string; mergeRequestId: string; webhookId: string }>;

const metadata = metadataFor(randomUUID());
const push = { branch: "main", metadata, eventId: randomUUID(), position: "0" };

/** A job of each worker that works for a project or a user. */
const jobs: readonly (readonly [Worker, (place: Place) => Record<string, unknown>])[] = [
  [mergeCheckWorker, ({ projectId }) => ({ projectId, branch: "main", head: "0" })],
  [mergeRequestMergeWorker, ({ mergeRequestId }) => ({ mergeRequestId, mergeId: randomUUID() })],
  [mergeRequestPushWorker, ({ projectId }) => ({ projectId, ...push })],
  [mergeRequestSourceWorker, (place) => ({ ...place, branch: "feature" })],
  [autoMergeWorker, ({ mergeRequestId }) => ({ mergeRequestId })],
  [mergeRequestHeadWorker, ({ mergeRequestId }) => ({ mergeRequestId })],
  [commitReferenceWorker, ({ projectId }) => ({ projectId, revision: 0 })],
  [pushCountWorker, ({ projectId }) => ({ projectId, revision: 0 })],
  [mirrorSyncWorker, ({ projectId }) => ({ projectId })],
  [projectForkWorker, ({ projectId: forkId }) => ({ forkId, metadata })],
  [webhookReplayWorker, ({ webhookId }) => ({ webhookId, replayId: randomUUID() })],
];

describe("a job of a project counts to the share of its owner", () => {
  let owner: string;
  let place: Place;
  before(async () => {
    const world = await newWorld();
    await world.open();
    const projectId = world.project.id;
    const [request] = await app.deps.db("merge_request").where("project_id", projectId);
    const webhookId = await givenWebhook(deps, { projectId, url: "http://127.0.0.1:1" });
    owner = people.anna.id;
    place = { projectId, mergeRequestId: String(request.id), webhookId };
  });

  for (const [worker, dataOf] of jobs) {
    it(worker.queue, async () => {
      const places = worker.places!;
      const holds = Array.from({ length: places.share }, () => places.take(1, { caller: owner }));
      const leaving = new AbortController();
      const running = worker.runJob(dataOf(place), deps, never, leaving.signal);
      const ended = running.catch((error: unknown) => error);
      await eventually(() => places.waiting(owner) === 1);
      expect(places.inUse).to.equal(places.share).and.below(places.total);
      leaving.abort(new Error("leaves"));
      expect(await ended).to.have.property("message", "leaves");
      for (const { leave } of holds) leave();
    });
  }
});
