import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { handle } from "../../../src/commands/core/handle.ts";
import { project } from "../../../src/commands/project/project.ts";
import { webhookDelivery } from "../../../src/commands/webhook/delivery.ts";
import { webhook } from "../../../src/commands/webhook/webhook.ts";
import type { NewEvent } from "../../../src/events/core/event.ts";
import { type ProjectId, UserId, type WebhookId } from "../../../src/events/core/ids.ts";
import { projectStream } from "../../../src/events/project/project.ts";
import { repositoryStream } from "../../../src/events/repository/repository.ts";
import { findWebhookReplay, stuckReplays } from "../../../src/projections/webhook/replay.ts";
import type { WorkerDeps } from "../../../src/services/core/deps.ts";
import { attempt, settingsReader } from "../../../src/workers/webhook/attempt.ts";
import { replayJob, webhookReplayWorker } from "../../../src/workers/webhook/replay.ts";
import { sweepWebhooks } from "../../../src/workers/webhook/sweep.ts";
import { metadataFor } from "../../support/app/history.ts";
import { givenProject, testWorkers } from "../../support/app/worker-deps.ts";
import { givenWebhook } from "../../support/client/webhook-order.ts";

type ReplayData = Parameters<typeof replayJob>[0];

const never = new AbortController().signal;
const branches = 510;
const longAgo = new Date("2020-01-01T00:00:00.000Z");
const dayMs = 24 * 60 * 60_000;

describe("the job of a replay", () => {
  let deps: WorkerDeps;
  let projectId: ProjectId;
  let userId: UserId;

  before(async () => {
    ({ deps } = await testWorkers());
    const made = await givenProject(deps, "search");
    ({ projectId } = made);
    userId = UserId.parse(made.userId);
    await deps.store.append(repositoryStream(projectId), "any", deletions("old", branches));
    await deps.store.append(repositoryStream(projectId), "any", [
      event("TagDeleted", { tag: "v0", objectId: "0".repeat(40) }),
    ]);
  });

  /** Events whose payloads need no repository. */
  const deletions = (name: string, count: number): NewEvent[] =>
    Array.from({ length: count }, (_, n) =>
      event("BranchDeleted", { branch: `${name}-${n}`, commitId: "0".repeat(40) }),
    );
  function event(type: string, data: object): NewEvent {
    const id = randomUUID();
    const metadata = {
      ...metadataFor(id),
      occurredAt: new Date(deps.now().getTime() - dayMs).toISOString(),
    };
    const changed = { changedById: userId, changedAt: metadata.occurredAt };
    return { id, type, data: { ...data, ...changed }, metadata };
  }

  const hook = () =>
    givenWebhook(deps, {
      projectId,
      url: "https://hooks.example.com/",
      topics: ["BRANCH_DELETE", "TAG_DELETE"],
    });

  async function order(
    id: WebhookId,
    command: Parameters<typeof webhook.decide>[1],
  ): Promise<void> {
    const metadata = metadataFor(randomUUID());
    const { position } = await handle(deps.store, webhook, { id, command, metadata });
    await deps.visible(position);
  }

  async function givenReplay(
    id: WebhookId,
    over: Partial<
      Readonly<{ topics: readonly ["TAG_DELETE"]; perSecond: number; to: string }>
    > = {},
  ): Promise<string> {
    const replayId = randomUUID();
    const [from, at] = [longAgo.toISOString(), deps.now().toISOString()];
    const to = new Date(deps.now().getTime() + dayMs).toISOString();
    const whose = { projectId, replayId, by: userId, at };
    await order(id, { type: "RequestReplay", ...whose, from, to, ...over });
    return replayId;
  }

  type Payload = Readonly<{
    project: Readonly<{ title: string; language: string; private: boolean }>;
    branch?: Readonly<{ name: string }>;
    tag?: Readonly<{ name: string }>;
  }>;

  /** Of a webhook's deliveries in the order in which they were scheduled. */
  async function payloads(id: WebhookId): Promise<readonly Payload[]> {
    const found: Payload[] = [];
    for await (const { type, data } of deps.store.readAll()) {
      if (type !== "WebhookDeliveryScheduled" || data["webhookId"] !== id) continue;
      found.push(JSON.parse((await deps.vault.open(data["body"] as never)) ?? "{}"));
    }
    return found;
  }
  const scheduled = async (id: WebhookId) =>
    (await payloads(id)).map(({ branch, tag }) => branch?.name ?? tag?.name);

  async function progress(id: WebhookId, replayId: string) {
    await deps.visible((await deps.store.head()) ?? 0n);
    return findWebhookReplay(deps.db, id, replayId);
  }

  /** The target has the last delivery of the part before the job. */
  async function send(job: ReplayData | undefined): Promise<void> {
    if (job?.tail === undefined) throw new Error("the job names no delivery");
    const id = job.tail;
    const at = deps.now().toISOString();
    const command = { type: "AbandonDelivery", reason: "body_forgotten", at } as const;
    const metadata = metadataFor(randomUUID());
    await handle(deps.store, webhookDelivery, { id, command, metadata });
  }

  const waiting = async () => {
    const jobs = await deps.queues.queue("webhook-replay").getWaiting();
    return jobs.map(({ data }) => data as ReplayData);
  };

  it("does a part of the history, and goes on where it was stopped without repeating any", async () => {
    const webhookId = await hook();
    const replayId = await givenReplay(webhookId);
    const stopped = new AbortController();
    let turns = 0;
    const dying: WorkerDeps = {
      ...deps,
      now: () => {
        turns += 1;
        if (turns === 100) stopped.abort(new Error("killed"));
        return deps.now();
      },
    };
    const { data: first } = replayJob({ webhookId, replayId });
    const death = await webhookReplayWorker.runJob(first, dying, stopped.signal).catch(String);
    expect(death).to.equal("Error: killed");
    const before = (await scheduled(webhookId)).length;
    expect(before).to.be.within(1, 100);
    expect(await progress(webhookId, replayId)).to.include({ total: branches + 1, outcome: null });
    expect(await waiting()).to.deep.equal([]);

    // Again from its beginning, twice, as a queue does that took it for lost: one job follows.
    await webhookReplayWorker.runJob(first, deps, never);
    await webhookReplayWorker.runJob(first, deps, never);
    const next = await waiting();
    expect(next).to.have.length(1);
    expect((await scheduled(webhookId)).length).to.equal(500);
    await webhookReplayWorker.runJob(next[0], deps, never);

    const names = Array.from({ length: branches }, (_, n) => `old-${n}`);
    expect(await scheduled(webhookId)).to.deep.equal([...names, "v0"]);
    expect(await progress(webhookId, replayId)).to.include({
      total: branches + 1,
      outcome: "scheduled",
      sent: 0,
      waiting: branches + 1,
    });
  });

  const delayedOf = async (replayId: string) =>
    (await deps.queues.queue("webhook-replay").getDelayed())
      .map(({ id, data, opts }) => ({ id, delay: opts.delay, data: data as ReplayData }))
      .filter(({ data }) => data.replayId === replayId);

  it("keeps to the pace without waiting: the next job is added for later", async () => {
    await deps.store.append(repositoryStream(projectId), "any", [
      ...[1, 2, 3].map((n) => event("TagDeleted", { tag: `v${n}`, objectId: "0".repeat(40) })),
    ]);
    const webhookId = await hook();
    const replayId = await givenReplay(webhookId, { topics: ["TAG_DELETE"], perSecond: 2 });
    await webhookReplayWorker.runJob({ webhookId, replayId }, deps, never);
    expect(await scheduled(webhookId)).to.deep.equal(["v0", "v1"]);
    const [next, ...others] = await delayedOf(replayId);
    expect(others).to.deep.equal([]);
    expect(next?.delay).to.equal(1_000);
    // It knows the events that follow, and reads them alone.
    expect(next?.data.ahead).to.have.length(2);
    const read: (readonly unknown[])[] = [];
    const readStream: typeof deps.store.readStream = (...args) => {
      if (args[0] === repositoryStream(projectId)) read.push(args.slice(1));
      return deps.store.readStream(...args);
    };
    await send(next?.data);
    const watched = { ...deps, store: { ...deps.store, readStream } };
    await webhookReplayWorker.runJob(next?.data, watched, never);
    expect(read.map(([, countMax]) => countMax)).to.deep.equal([1, 1]);
    expect(await scheduled(webhookId)).to.deep.equal(["v0", "v1", "v2", "v3"]);
    const last = (await delayedOf(replayId)).find(({ data }) => data.ahead === undefined);
    await send(last?.data);
    await webhookReplayWorker.runJob(last?.data, deps, never);
    expect((await progress(webhookId, replayId))?.outcome).to.equal("scheduled");
  });

  it("waits at its pace until the target has taken what was scheduled, and a second more", async () => {
    const webhookId = await hook();
    const replayId = await givenReplay(webhookId, { topics: ["TAG_DELETE"], perSecond: 1 });
    await webhookReplayWorker.runJob({ webhookId, replayId }, deps, never);
    const [part] = await delayedOf(replayId);
    const heldAt = async (held: number) =>
      (await delayedOf(replayId)).find(({ data }) => data.held === held);
    await webhookReplayWorker.runJob(part?.data, deps, never);
    await webhookReplayWorker.runJob((await heldAt(1))?.data, deps, never);
    await send(part?.data);
    await webhookReplayWorker.runJob((await heldAt(2))?.data, deps, never);
    expect(await scheduled(webhookId)).to.deep.equal(["v0"]);
    expect((await heldAt(3))?.delay).to.equal(1_000);
    await webhookReplayWorker.runJob((await heldAt(3))?.data, deps, never);
    expect(await scheduled(webhookId)).to.deep.equal(["v0", "v1"]);
  });

  it("is followed by one job, however many went on for one that came late", async () => {
    const webhookId = await hook();
    const replayId = await givenReplay(webhookId, { topics: ["TAG_DELETE"], perSecond: 1 });
    await webhookReplayWorker.runJob({ webhookId, replayId }, deps, never);
    const [late] = await delayedOf(replayId);
    await progress(webhookId, replayId);
    await webhookReplayWorker.runJob({ webhookId, replayId, start: "1" }, deps, never);
    await progress(webhookId, replayId);
    await send(late?.data);
    await webhookReplayWorker.runJob(late?.data, deps, never);
    expect(await scheduled(webhookId)).to.deep.equal(["v0", "v1"]);
    const jobs = (await delayedOf(replayId)).filter(({ id }) => id !== late?.id);
    expect(jobs).to.have.length(1);
    await send(jobs[0]?.data);
    await webhookReplayWorker.runJob(jobs[0]?.data, deps, never);
    await progress(webhookId, replayId);
    // Another has gone on beyond the part of this one.
    await webhookReplayWorker.runJob(late?.data, deps, never);
    expect(await scheduled(webhookId)).to.deep.equal(["v0", "v1", "v2"]);
  });

  it("schedules nothing once it was canceled, or the webhook is off or gone", async () => {
    const canceled = await hook();
    const one = await givenReplay(canceled, { topics: ["TAG_DELETE"] });
    const whose = { projectId, by: userId, at: deps.now().toISOString() };
    await order(canceled, { type: "CancelReplay", ...whose, replayId: one });
    await webhookReplayWorker.runJob({ webhookId: canceled, replayId: one }, deps, never);
    expect(await scheduled(canceled)).to.deep.equal([]);

    const off = await hook();
    const two = await givenReplay(off, { topics: ["TAG_DELETE"] });
    await order(off, { type: "SwitchOffWebhook", failingSince: whose.at, at: whose.at });
    await webhookReplayWorker.runJob({ webhookId: off, replayId: two }, deps, never);
    expect(await scheduled(off)).to.deep.equal([]);
    expect(await progress(off, two)).to.include({ outcome: "webhook_switched_off", total: null });

    const gone = await hook();
    const three = await givenReplay(gone, { topics: ["TAG_DELETE"] });
    await order(gone, { type: "DeleteWebhook", ...whose });
    await webhookReplayWorker.runJob({ webhookId: gone, replayId: three }, deps, never);
    expect(await scheduled(gone)).to.deep.equal([]);
    expect(await progress(gone, three)).to.equal(undefined);
  });

  /** A replay whose project is deleted as its first deliveries are scheduled. */
  async function givenDeletedDuring(schedulings: number) {
    const { projectId: other, userId: by } = await givenProject(deps, `deleted-${schedulings}`);
    await deps.store.append(repositoryStream(other), "any", deletions("some", 5));
    const webhookId = await givenWebhook(deps, {
      projectId: other,
      url: "https://hooks.example.com/",
      topics: ["BRANCH_DELETE"],
    });
    const replayId = randomUUID();
    const [from, at] = [longAgo.toISOString(), deps.now().toISOString()];
    const whose = { projectId: other, replayId, by, at };
    await order(webhookId, { type: "RequestReplay", ...whose, from, to: at });
    let appends = 0;
    const append: WorkerDeps["store"]["append"] = async (stream, ...rest) => {
      if (stream.startsWith("webhookDelivery-")) appends += 1;
      if (appends === schedulings) {
        const command = { type: "DeleteProject", projectId: other, by, at } as const;
        const metadata = metadataFor(randomUUID());
        const deleted = await handle(deps.store, project, { id: other, command, metadata });
        await deps.visible(deleted.position);
      }
      return deps.store.append(stream, ...rest);
    };
    const { data } = replayJob({ webhookId, replayId });
    await webhookReplayWorker.runJob(data, { ...deps, store: { ...deps.store, append } }, never);
    return { webhookId, replayId, data };
  }

  it("stops when the project is deleted meanwhile", async () => {
    const { webhookId, replayId, data } = await givenDeletedDuring(3);
    expect(await progress(webhookId, replayId)).to.include({ outcome: "project_deleted" });
    await webhookReplayWorker.runJob(data, deps, never);
    expect(await scheduled(webhookId)).to.have.length(3);
  });

  it("waits for a read model that is behind the log", async () => {
    const { projectId: other, userId: by } = await givenProject(deps, "behind");
    const webhookId = await givenWebhook(deps, { projectId: other, url: "https://example.com/" });
    const replayId = randomUUID();
    const [from, at] = [longAgo.toISOString(), deps.now().toISOString()];
    const whose = { projectId: other, replayId, by, at };
    await order(webhookId, { type: "RequestReplay", ...whose, from, to: at });
    await deps.db("project").where({ id: other }).delete();
    const { data } = replayJob({ webhookId, replayId });
    await expect(webhookReplayWorker.runJob(data, deps, never)).to.be.rejectedWith("not there yet");
    expect(await progress(webhookId, replayId)).to.include({ outcome: null });
  });

  it("sends nothing more once the project was deleted", async () => {
    const { webhookId } = await givenDeletedDuring(2);
    await deps.visible((await deps.store.head()) ?? 0n);
    const deliveries = () => deps.db("webhook_delivery").where({ webhook_id: webhookId });
    const settingsOf = settingsReader(deps);
    for (const { id } of await deliveries())
      await attempt({ deliveryId: id, number: 1, settingsOf }, deps, never);
    await deps.visible((await deps.store.head()) ?? 0n);
    const ends = await deliveries();
    expect(ends.map((one) => [one.abandoned_because, one.attempts])).to.deep.equal([
      ["project_deleted", 0],
      ["project_deleted", 0],
    ]);
  });

  it("is added again when the queue has lost it", async () => {
    await deps.queues.queue("webhook-replay").obliterate({ force: true });
    const webhookId = await hook();
    const replayId = await givenReplay(webhookId, { topics: ["TAG_DELETE"] });
    const future = new Date(deps.now().getTime() + dayMs / 2);
    expect(await stuckReplays(deps.db, longAgo, 10)).to.deep.equal([]);
    await sweepWebhooks({ ...deps, now: () => future });
    const jobs = (await waiting()).filter((job) => job.replayId === replayId);
    expect(jobs).to.have.length(1);
    // It merely waits: another round adds no other.
    await sweepWebhooks({ ...deps, now: () => new Date(future.getTime() + dayMs / 4) });
    expect((await waiting()).filter((job) => job.replayId === replayId)).to.deep.equal(jobs);
    await webhookReplayWorker.runJob(jobs[0], deps, never);
    expect((await progress(webhookId, replayId))?.outcome).to.equal("scheduled");
    expect((await stuckReplays(deps.db, future, 10)).map(({ id }) => id)).not.to.include(replayId);
  });

  it("describes the project as it was at each event", async () => {
    const now = { title: "Found", description: null, language: null, topics: [], siteUrl: null };
    const previous = { ...now, title: "Project search", language: "TypeScript" };
    await deps.store.append(projectStream(projectId), "any", [
      event("ProjectDetailsChanged", { details: now, previous }),
      event("ProjectVisibilityChanged", { private: false, previous: true }),
    ]);
    await deps.store.append(repositoryStream(projectId), "any", [
      event("TagDeleted", { tag: "v9", objectId: "0".repeat(40) }),
    ]);
    const webhookId = await hook();
    const replayId = await givenReplay(webhookId, { topics: ["TAG_DELETE"] });
    await webhookReplayWorker.runJob({ webhookId, replayId }, deps, never);

    const sent = (await payloads(webhookId)).map(({ project, tag }) => [
      ...[tag?.name, project.title, project.language, project.private],
    ]);
    expect(sent[0]).to.deep.equal(["v0", "Project search", "TypeScript", true]);
    expect(sent.at(-1)).to.deep.equal(["v9", "Found", "", false]);
  });
});
