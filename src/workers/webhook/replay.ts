import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";

import { currentState, handle } from "../../commands/core/handle.ts";
import { replayStatus, webhook } from "../../commands/webhook/webhook.ts";
import { decode } from "../../events/core/decode.ts";
import type { Recorded } from "../../events/core/event.ts";
import { type ProjectId, WebhookId } from "../../events/core/ids.ts";
import { type WebhookEvent, webhookEvents, webhookStream } from "../../events/webhook/webhook.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { type Job, PermanentFailure } from "../../platform/queue.ts";
import { scheduledAmong } from "../../projections/webhook/delivery.ts";
import { causedBy } from "../core/caused-by.ts";
import type { WorkerDeps } from "../core/deps.ts";
import { defineWorker } from "../core/worker.ts";
import { replayQueue } from "./dispatch.ts";
import { deliveryIdOf, notificationOf, notify } from "./notification.ts";
import type { Notification } from "./payload.ts";
import { payloadBuilders } from "./payloads.ts";

/** The oldest of a time; what comes after them is asked for by a later beginning. */
const eventsMax = 10_000;

/** A job ends after so many deliveries, or as many as this time has room for, and others have a turn. */
const deliveriesPerJob = 500;
const secondsPerJob = 20;

/** So often the worker looks whether the replay was canceled, or the webhook is off or gone. */
const lookMs = 1_000;

const ReplayJob = z.object({
  webhookId: WebhookId,
  replayId: z.uuid(),
  /** Position of the last event that earlier jobs have done; left out by the first job. */
  after: z.string().regex(/^\d+$/).optional(),
  /** Tells the jobs of a second start from those of the first one, which the queue may still know. */
  start: z.string().optional(),
});
type ReplayJob = z.output<typeof ReplayJob>;

/**
 * Sends history again: every event of the time asked for becomes a new delivery, in the order in
 * which things happened. A job does a part of them and adds the job of the next part, which begins at
 * the same event however often the first one was stopped and run again; nothing is scheduled twice.
 */
export const webhookReplayWorker = defineWorker({
  queue: replayQueue,
  concurrency: 4,
  payload: ReplayJob,
  async run(job, deps, signal) {
    const { webhookId, replayId } = job;
    const asked = await findRequest(job, deps);
    if (!(await goesOn(job, asked, deps))) return;
    const projectId = await projectOf(webhookId, deps);
    const { from, to, topics, perSecond, requestedAt } = asked.data;
    // What happens later is not history, and would change which events are the oldest.
    const until = to < requestedAt ? to : requestedAt;
    const streams = await Promise.all(
      payloadBuilders.map((builder) => builder.streams(projectId, deps)),
    );
    const events = await happened(streams.flat(), from, until, deps);
    const told = async (event: Recorded): Promise<Notification | undefined> => {
      const notification = await notificationOf(event, deps);
      return notification && topics.includes(notification.topic) ? notification : undefined;
    };
    if (job.after === undefined) {
      const total = await countOf(events, told, signal);
      await tell(job, asked, { type: "StartReplay", replayId, total }, deps);
    }
    const after = BigInt(job.after ?? -1);
    const open = events.filter(({ position }) => position > after);
    const part = { job, asked, told, most: mostOf(perSecond) };
    const next = await sendPart(open, part, deps, signal);
    if (next === undefined) {
      await tell(job, asked, { type: "FinishReplay", replayId, outcome: "scheduled" }, deps);
    } else if (next !== "ended") {
      await deps.queues.add([replayJob({ ...job, after: String(next) })]);
    }
  },
});

/** The job of a replay from an event on; the first one without an event. */
export function replayJob(data: ReplayJob): Job {
  const { replayId, after = "start", start = "first" } = data;
  return { queue: replayQueue, id: deterministicId("replay", replayId, after, start), data };
}

function mostOf(perSecond: number | undefined): number {
  if (perSecond === undefined) return deliveriesPerJob;
  return Math.min(deliveriesPerJob, perSecond * secondsPerJob);
}

type Part = Readonly<{
  job: ReplayJob;
  asked: Asked;
  told: (event: Recorded) => Promise<Notification | undefined>;
  /** Deliveries, those that an earlier run has scheduled included: so each run ends at the same event. */
  most: number;
}>;

/** @returns position of the last event done when others follow; "ended" when none shall follow */
async function sendPart(
  events: readonly Recorded[],
  { job, asked, told, most }: Part,
  deps: WorkerDeps,
  signal: AbortSignal,
): Promise<bigint | "ended" | undefined> {
  const { webhookId, replayId } = job;
  const { perSecond } = asked.data;
  const idOf = (event: Recorded) => deliveryIdOf(event, webhookId, replayId);
  const known = await scheduledAmong(deps.db, events.map(idOf));
  const startedAt = performance.now();
  let lookedAt = startedAt;
  let done = 0;
  let sent = 0;
  for (const [index, event] of events.entries()) {
    signal.throwIfAborted();
    const notification = await told(event);
    if (notification === undefined) continue;
    done += 1;
    if (!known.has(idOf(event))) {
      const dueAt = startedAt + (perSecond === undefined ? 0 : (sent * 1_000) / perSecond);
      const waitMs = dueAt - performance.now();
      if (waitMs > 0) await delay(waitMs, undefined, { signal });
      if (performance.now() - lookedAt >= lookMs) {
        if (!(await goesOn(job, asked, deps))) return "ended";
        lookedAt = performance.now();
      }
      await notify(event, notification, [webhookId], { replayId }, deps);
      sent += 1;
    }
    if (done === most && index + 1 < events.length) return event.position;
  }
  return undefined;
}

/** False when nothing shall be sent any more; of a webhook that is off this is recorded. */
async function goesOn(job: ReplayJob, asked: Asked, deps: WorkerDeps): Promise<boolean> {
  const { webhookId, replayId } = job;
  const state = await currentState(deps.store, webhook, webhookId);
  if (state.status === "absent" || state.status === "deleted") return false;
  if (state.status === "off") {
    const outcome = "webhook_switched_off";
    await tell(job, asked, { type: "FinishReplay", replayId, outcome }, deps);
    return false;
  }
  const status = replayStatus(state, replayId);
  return status === "requested" || status === "running";
}

type Step =
  | Readonly<{ type: "StartReplay"; replayId: string; total: number }>
  | Readonly<{
      type: "FinishReplay";
      replayId: string;
      outcome: "scheduled" | "webhook_switched_off";
    }>;

async function tell(
  { webhookId }: ReplayJob,
  asked: Asked,
  step: Step,
  deps: WorkerDeps,
): Promise<void> {
  const now = deps.now();
  const commandId = deterministicId(step.type, step.replayId);
  const metadata = causedBy(asked, commandId, now);
  const command = { ...step, at: now.toISOString() };
  await handle(deps.store, webhook, { id: webhookId, command, metadata });
}

async function projectOf(webhookId: WebhookId, { store }: WorkerDeps): Promise<ProjectId> {
  const state = await currentState(store, webhook, webhookId);
  if (state.status === "on" || state.status === "off") return state.projectId;
  throw new PermanentFailure(`The webhook ${webhookId} is gone`);
}

type Asked = Readonly<{
  id: Recorded["id"];
  metadata: Recorded["metadata"];
  data: Extract<WebhookEvent, { type: "WebhookReplayRequested" }>["data"];
}>;

async function findRequest(
  { webhookId, replayId }: ReplayJob,
  { store }: WorkerDeps,
): Promise<Asked> {
  for await (const recorded of store.readStream(webhookStream(webhookId))) {
    const { id, metadata } = recorded;
    const { type, data } = decode(webhookEvents, recorded);
    if (type === "WebhookReplayRequested" && data.replayId === replayId) {
      return { id, metadata, data };
    }
  }
  throw new PermanentFailure(`No replay ${replayId} of webhook ${webhookId}`);
}

async function countOf(
  events: readonly Recorded[],
  told: Part["told"],
  signal: AbortSignal,
): Promise<number> {
  let total = 0;
  for (const event of events) {
    signal.throwIfAborted();
    if ((await told(event)) !== undefined) total += 1;
  }
  return total;
}

async function happened(
  streams: readonly string[],
  from: string,
  to: string,
  { store }: WorkerDeps,
): Promise<readonly Recorded[]> {
  const events: Recorded[] = [];
  for (const stream of new Set(streams)) {
    let found = 0;
    for await (const event of store.readStream(stream)) {
      const at = event.metadata.occurredAt;
      if (at < from || at >= to) continue;
      events.push(event);
      found += 1;
      if (found === eventsMax) break;
    }
  }
  return events.sort((a, b) => (a.position < b.position ? -1 : 1)).slice(0, eventsMax);
}
