import { z } from "zod";

import { currentState, handle } from "../../commands/core/handle.ts";
import { webhookDelivery } from "../../commands/webhook/delivery.ts";
import { replayStatus, webhook } from "../../commands/webhook/webhook.ts";
import { decode } from "../../events/core/decode.ts";
import type { Recorded } from "../../events/core/event.ts";
import { type ProjectId, WebhookDeliveryId, WebhookId } from "../../events/core/ids.ts";
import { type WebhookEvent, webhookEvents, webhookStream } from "../../events/webhook/webhook.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { type Job, PermanentFailure } from "../../platform/queue/queue.ts";
import { Refusal } from "../../platform/refusal.ts";
import { findProjectById } from "../../projections/project/project.ts";
import { scheduledAmong } from "../../projections/webhook/delivery.ts";
import { causedBy } from "../../services/core/caused-by.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import { defineWorker } from "../core/worker.ts";
import { isDeleted } from "./deleted-project.ts";
import { replayQueue } from "./dispatch.ts";
import { type EventPlace, eventsAt, oldestEvents, placeOf } from "./history.ts";
import { deliveryIdOf, notificationOf, notify } from "./notification.ts";
import type { Notification } from "./payload.ts";
import { payloadBuilders } from "./payloads.ts";
import { type ProjectAt, projectHistory } from "./project-history.ts";

/** The oldest events of a period; a replay with a later start sends those after them. */
const eventsMax = 10_000;

/** A job ends after so many deliveries, or as many as may begin in a second, and others have a turn. */
const deliveriesPerJob = 500;
/** So many events after its own a job passes to the next ones, which need not read the history again then. */
const aheadMax = 200;

/** So often the worker looks whether the replay was canceled, or the webhook or project is off or gone. */
const lookMs = 1_000;

const Position = z.string().regex(/^\d+$/);

const ReplayJob = z.object({
  webhookId: WebhookId,
  replayId: z.uuid(),
  /** Position of the last event that earlier jobs have done; left out by the first job. */
  after: Position.optional(),
  /** Position of the last event that belongs to the replay; left out by the first job. */
  last: Position.optional(),
  /** Events that follow, from the first one to be done; more may come after them. */
  ahead: z
    .array(z.tuple([z.string(), Position]))
    .max(aheadMax)
    .readonly()
    .optional(),
  /** Of a job that goes on for a lost one: how many deliveries there were then. */
  start: z.string().optional(),
  /** At a pace, the last delivery of the part before: nothing is scheduled while it is not sent. */
  tail: WebhookDeliveryId.optional(),
  /** How often it was waited for. */
  held: z.int().min(1).optional(),
  /** It was sent within the last second. */
  isSent: z.boolean().optional(),
});
type ReplayJob = z.output<typeof ReplayJob>;

/**
 * Sends history again: every event of the requested period becomes a new delivery, in the order of the
 * log. A job does a part of them and adds the job of the next part, which begins at the same event
 * however often the first one was stopped and run again; nothing is scheduled twice. At a pace a part is
 * what may begin in a second, and the next job is added with a delay until that second is over: no job
 * waits while others could run.
 */
export const webhookReplayWorker = defineWorker({
  queue: replayQueue,
  concurrency: 8,
  payload: ReplayJob,
  async run(job, deps, signal) {
    const { webhookId, replayId } = job;
    const requested = await findRequest(job, deps);
    if (!(await goesOn(job, requested, deps))) return;
    const held = await heldJob(job, deps);
    if (held !== undefined) {
      await deps.queues.add([{ ...replayJob(held), delayMs: 1_000 }]);
      return;
    }
    const { topics, perSecond } = requested.data;
    const notificationFor = async (event: Recorded): Promise<Notification | undefined> => {
      const notification = await notificationOf(event, deps);
      return notification && topics.includes(notification.topic) ? notification : undefined;
    };
    const { events, last } = await openEvents(job, requested, deps);
    if (job.after === undefined) {
      const total = await countOf(events, notificationFor, signal);
      await recordStep(job, requested, { type: "StartReplay", replayId, total }, deps);
    }
    const part: Part = {
      job,
      requested,
      notificationFor,
      projectAt: await projectHistory(await projectOf(webhookId, deps), deps),
      most: mostOf(perSecond),
      tail: undefined,
    };
    const next = await sendPart(events, part, deps, signal);
    if (next === "ended") return;
    if (next === "all" && (job.ahead === undefined || last === undefined)) {
      await recordStep(
        job,
        requested,
        { type: "FinishReplay", replayId, outcome: "scheduled" },
        deps,
      );
      return;
    }
    const { after, ahead } = next === "all" ? restAfter(events, job) : next;
    const data = {
      ...{ webhookId, replayId, after },
      ...(part.tail !== undefined && perSecond !== undefined && { tail: part.tail }),
      ...(last !== undefined && { last }),
      ...(ahead.length > 0 && { ahead }),
    };
    const delayMs = perSecond === undefined ? 0 : Math.ceil((part.most * 1_000) / perSecond);
    await deps.queues.add([{ ...replayJob(data), delayMs }]);
  },
});

/**
 * The job of a replay from an event on; the first one without an event. Jobs from one event on have one id,
 * so that a lost job's successor and a late one go on as one.
 */
export function replayJob(data: ReplayJob): Job {
  const { replayId, after = "start", start = "first", held } = data;
  const turn = held === undefined ? [] : [String(held)];
  return {
    queue: replayQueue,
    id: deterministicId("replay", replayId, after, start, ...turn),
    data,
  };
}

/**
 * At a pace no part is scheduled before the one before it was sent, or a target that answers slowly for a time
 * would get all that has gathered at once afterwards.
 *
 * @returns the same job for a second later; undefined when it may go on
 */
async function heldJob(job: ReplayJob, { store }: WorkerDeps): Promise<ReplayJob | undefined> {
  const { tail, held = 0, isSent } = job;
  if (tail === undefined || isSent) return undefined;
  const state = await currentState(store, webhookDelivery, tail);
  if (state.status === "pending" && state.attempts === 0) return { ...job, held: held + 1 };
  return held === 0 ? undefined : { ...job, held: held + 1, isSent: true };
}

const mostOf = (perSecond = deliveriesPerJob): number => Math.min(deliveriesPerJob, perSecond);

/** Nothing is known of what follows. */
const restAfter = (events: readonly Recorded[], { after = "0" }: ReplayJob): Next => ({
  after: String(events.at(-1)?.position ?? after),
  ahead: [],
});

/** What is not done yet, as far as the job knows it, and where the replay ends. */
async function openEvents(
  job: ReplayJob,
  requested: ReplayRequested,
  deps: WorkerDeps,
): Promise<Readonly<{ events: readonly Recorded[]; last: string | undefined }>> {
  if (job.ahead !== undefined) return { events: await eventsAt(job.ahead, deps), last: job.last };
  const { from, to, requestedAt } = requested.data;
  const projectId = await projectOf(job.webhookId, deps);
  const streams = await Promise.all(
    payloadBuilders.map((builder) => builder.streams(projectId, deps)),
  );
  const stretch = {
    from,
    // What happens later is not history, and would change which events are the oldest.
    to: to < requestedAt ? to : requestedAt,
    countMax: eventsMax,
  };
  // Without its end, which the first job finds, the events done count as well.
  const rest =
    job.last === undefined ? {} : { after: BigInt(job.after ?? -1), last: BigInt(job.last) };
  const found = await oldestEvents(streams.flat(), { ...stretch, ...rest }, deps);
  const last = job.last ?? (found.length > 0 ? String(found.at(-1)?.position) : undefined);
  const after = BigInt(job.after ?? -1);
  return { events: found.filter(({ position }) => position > after), last };
}

type Part = Readonly<{
  job: ReplayJob;
  requested: ReplayRequested;
  notificationFor: (event: Recorded) => Promise<Notification | undefined>;
  projectAt: ProjectAt;
  /** Deliveries, those that an earlier run has scheduled included: so each run ends at the same event. */
  most: number;
}> & {
  /** The last one of them so far. */
  tail: WebhookDeliveryId | undefined;
};

type Next = Readonly<{ after: string; ahead: readonly EventPlace[] }>;

/**
 * @returns the last event done and some that follow; "all" when none of those given follows, "ended" when
 *   no job shall follow: the replay is over, or another job has gone on already
 */
async function sendPart(
  given: readonly Recorded[],
  part: Part,
  deps: WorkerDeps,
  signal: AbortSignal,
): Promise<Next | "ended" | "all"> {
  const { job, requested, notificationFor, projectAt, most } = part;
  const { webhookId, replayId } = job;
  const idOf = (event: Recorded) => deliveryIdOf(event, webhookId, replayId);
  const known = await scheduledAmong(deps.db, given.map(idOf));
  // Who goes on for a lost job begins where that one has ended.
  const isRestart = job.start !== undefined && job.after === undefined;
  const events = isRestart
    ? given.slice(given.findLastIndex((one) => known.has(idOf(one))) + 1)
    : given;
  let lookedAt = performance.now();
  let done = 0;
  let last: Recorded | undefined;
  const ahead: EventPlace[] = [];
  for (const event of events) {
    signal.throwIfAborted();
    const notification = await notificationFor(event);
    if (notification === undefined) continue;
    if (done === most) {
      if (ahead.length === 0 && (await scheduledAmong(deps.db, [idOf(event)])).size > 0)
        return "ended";
      ahead.push(placeOf(event));
      if (requested.data.perSecond === undefined || ahead.length === aheadMax) break;
      continue;
    }
    done += 1;
    last = event;
    part.tail = idOf(event);
    if (known.has(idOf(event))) continue;
    if (performance.now() - lookedAt >= lookMs) {
      if (!(await goesOn(job, requested, deps))) return "ended";
      lookedAt = performance.now();
    }
    if (!(await notify(event, notification, [webhookId], { replayId, projectAt }, deps))) {
      await goesOn(job, requested, deps);
      return "ended";
    }
  }
  if (last === undefined || ahead.length === 0) return "all";
  // Without a pace the next part is larger than the events that were collected ahead.
  const isPaced = requested.data.perSecond !== undefined && most < aheadMax;
  return { after: String(last.position), ahead: isPaced ? ahead : [] };
}

/**
 * False when nothing shall be sent any more; that a webhook is off or its project deleted is recorded.
 *
 * @throws Refusal 503 while the read models lack the project: they have no history of it either
 */
async function goesOn(
  job: ReplayJob,
  requested: ReplayRequested,
  deps: WorkerDeps,
): Promise<boolean> {
  const { webhookId, replayId } = job;
  const state = await currentState(deps.store, webhook, webhookId);
  if (state.status === "absent" || state.status === "deleted") return false;
  const stop = async (outcome: Outcome): Promise<false> => {
    await recordStep(job, requested, { type: "FinishReplay", replayId, outcome }, deps);
    return false;
  };
  if (state.status === "off") return stop("webhook_switched_off");
  if ((await findProjectById(deps.db, state.projectId)) === undefined) {
    if (await isDeleted(state.projectId, deps)) return stop("project_deleted");
    throw new Refusal("unavailable", "projection.lagging", "The project is not there yet.");
  }
  const status = replayStatus(state, replayId);
  return status === "requested" || status === "running";
}

type Outcome = Extract<WebhookEvent, { type: "WebhookReplayFinished" }>["data"]["outcome"];

type Step =
  | Readonly<{ type: "StartReplay"; replayId: string; total: number }>
  | Readonly<{
      type: "FinishReplay";
      replayId: string;
      outcome: Outcome;
    }>;

async function recordStep(
  { webhookId }: ReplayJob,
  requested: ReplayRequested,
  step: Step,
  deps: WorkerDeps,
): Promise<void> {
  const now = deps.now();
  const commandId = deterministicId(step.type, step.replayId);
  const metadata = causedBy(requested, commandId, now);
  const command = { ...step, at: now.toISOString() };
  await handle(deps.store, webhook, { id: webhookId, command, metadata });
}

async function projectOf(webhookId: WebhookId, { store }: WorkerDeps): Promise<ProjectId> {
  const state = await currentState(store, webhook, webhookId);
  if (state.status === "on" || state.status === "off") return state.projectId;
  throw new PermanentFailure(`The webhook ${webhookId} is gone`);
}

type ReplayRequested = Readonly<{
  id: Recorded["id"];
  metadata: Recorded["metadata"];
  data: Extract<WebhookEvent, { type: "WebhookReplayRequested" }>["data"];
}>;

async function findRequest(
  { webhookId, replayId }: ReplayJob,
  { store }: WorkerDeps,
): Promise<ReplayRequested> {
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
  notificationFor: Part["notificationFor"],
  signal: AbortSignal,
): Promise<number> {
  let total = 0;
  for (const event of events) {
    signal.throwIfAborted();
    if ((await notificationFor(event)) !== undefined) total += 1;
  }
  return total;
}
