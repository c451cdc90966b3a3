import { currentState, handle, type LoadedState } from "../../commands/core/handle.ts";
import {
  type AttemptRecord,
  type WebhookDeliveryCommand,
  type WebhookDeliveryState,
  webhookDelivery,
} from "../../commands/webhook/delivery.ts";
import { replayStatus, type WebhookState, webhook } from "../../commands/webhook/webhook.ts";
import type { Recorded } from "../../events/core/event.ts";
import { projectSubject } from "../../events/project/project.ts";
import { asCaller } from "../../platform/caller.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { invariant } from "../../platform/invariant.ts";
import type { OutboundResponse } from "../../platform/outbound/http.ts";
import { PermanentFailure } from "../../platform/queue/queue.ts";
import { findProjectById } from "../../projections/project/project.ts";
import { causedBy, load } from "../../services/core/caused-by.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import { isDeleted } from "./deleted-project.ts";
import { noteFailure, noteSuccess } from "./health.ts";
import { failureCode, retryAfterMs, type WebhookMessage, webhookHeaders } from "./request.ts";

const timeoutMs = 10_000;
const answerBytesMax = 8_192;

/** What follows an attempt; undefined when the delivery is over. */
export type Next = Readonly<{ attempt: number; at: Date }> | undefined;

type Existing = Exclude<WebhookDeliveryState, { status: "absent" }>;
type Cause = Pick<Recorded, "id" | "metadata">;

type Settings = Readonly<{
  state: WebhookState;
  /** It may be restored. */
  isProjectDeleted: boolean;
  /** On whose behalf requests are made: the owner of the project. */
  caller: string;
}>;

/** The settings of a webhook. */
export type SettingsOf = (webhookId: string) => Promise<Settings>;

/** Reads each webhook once: for attempts that follow one another closely. */
export function settingsReader(deps: WorkerDeps): SettingsOf {
  const read = new Map<string, Promise<Settings>>();
  return (webhookId) => {
    const settings = read.get(webhookId) ?? readSettings(webhookId, deps);
    read.set(webhookId, settings);
    return settings;
  };
}

async function readSettings(webhookId: string, deps: WorkerDeps): Promise<Settings> {
  const state = await currentState(deps.store, webhook, webhookId);
  if (!("projectId" in state)) return { state, isProjectDeleted: false, caller: webhookId };
  const project = await findProjectById(deps.db, state.projectId);
  return {
    state,
    isProjectDeleted: project === undefined && (await isDeleted(state.projectId, deps)),
    caller: project?.owner_user_id ?? state.projectId,
  };
}

type AttemptOrder = Readonly<{
  deliveryId: string;
  /** From 1. */
  number: number;
  settingsOf: SettingsOf;
}>;

/**
 * Makes an attempt at a delivery, unless it was made already, and records what came of it. Stopping
 * at any line and running again sends at most one request more, under the same id.
 */
export async function attempt(
  { deliveryId, number, settingsOf }: AttemptOrder,
  deps: WorkerDeps,
  signal: AbortSignal,
): Promise<Next> {
  const { last, ...known } = await load(deps.store, webhookDelivery, deliveryId);
  const { state } = known;
  if (state.status === "absent" || last === undefined) {
    throw new PermanentFailure(`No webhook delivery ${deliveryId}`);
  }
  if (state.status !== "pending" || state.attempts >= number) return nextOf(state);

  const before = { ...known, state };
  // Of a replay it is read again each time: once one was canceled, no attempt begins.
  const settings =
    state.replayId === undefined
      ? await settingsOf(state.webhookId)
      : await readSettings(state.webhookId, deps);
  const ready = await prepare(state, settings, deps);
  if (ready.abandon !== undefined) {
    const command = { type: "AbandonDelivery", reason: ready.abandon } as const;
    const step = { name: `abandon ${number}`, cause: last };
    return record(deliveryId, before, command, step, deps);
  }
  const { url, body, secret } = ready;
  const { action, replayId } = state;
  const isReplay = replayId !== undefined;
  const message = { deliveryId, action, body, secret, isReplay, at: deps.now() };
  const result = await asCaller(settings.caller, () => send(url, message, deps, signal));
  const response =
    result.answer === null
      ? null
      : await deps.vault.seal(projectSubject(state.projectId), result.answer);

  const command = {
    type: "RecordAttempt",
    attempt: number,
    url,
    startedAt: message.at.toISOString(),
    ...result.record,
    response,
    jitter: jitterOf(deliveryId, number),
  } as const;
  const step = { name: `attempt ${number}`, cause: last };
  const next = await record(deliveryId, before, command, step, deps);
  const { status } = result.record;
  if (status !== null && status >= 200 && status <= 299) await noteSuccess(deps, state.webhookId);
  else await noteFailure(deps, state.webhookId, last);
  return next;
}

type Ready =
  | Readonly<{ abandon?: undefined; url: string; body: string; secret: string | null }>
  | Readonly<{ abandon: Extract<WebhookDeliveryCommand, { type: "AbandonDelivery" }>["reason"] }>;

/** Where it goes and what it says, by the settings of now. */
async function prepare(
  { action, body: sealedBody, replayId }: Existing,
  { state, isProjectDeleted }: Settings,
  { vault }: WorkerDeps,
): Promise<Ready> {
  if (state.status === "absent" || state.status === "deleted")
    return { abandon: "webhook_deleted" };
  // Trying out one that is off is how one finds out whether it works again.
  if (state.status === "off" && action !== "TEST_WEBHOOK") {
    return { abandon: "webhook_switched_off" };
  }
  if (replayId !== undefined && replayStatus(state, replayId) === "canceled") {
    return { abandon: "replay_canceled" };
  }
  // Nobody can look at it there, change the webhook or cancel the replay.
  if (isProjectDeleted) return { abandon: "project_deleted" };
  const body = await vault.open(sealedBody);
  const secret = state.secret === null ? null : await vault.open(state.secret);
  if (body === null || (secret === null && state.secret !== null)) {
    return { abandon: "body_forgotten" };
  }
  return { url: state.url, body, secret };
}

type Sent = Readonly<{
  record: Omit<AttemptRecord, "attempt" | "url" | "startedAt" | "response">;
  /** JSON text of what the receiver said. */
  answer: string | null;
}>;

/** @throws only when the process is ending: then the attempt does not count. */
async function send(
  url: string,
  message: WebhookMessage,
  { outbound, now }: WorkerDeps,
  signal: AbortSignal,
): Promise<Sent> {
  const startedAt = performance.now();
  try {
    const response = await outbound.request({
      method: "POST",
      url,
      headers: webhookHeaders(message),
      body: message.body,
      timeoutMs,
      bodyBytesMax: answerBytesMax,
      signal,
    });
    const { status, connectMs, firstByteMs, totalMs, headers } = response;
    const wait = retryAfterMs(headers["retry-after"], now());
    const times = { connectMs, firstByteMs, totalMs };
    const record = { status, ...times, failure: null, retryAfterMs: wait };
    return { record, answer: answerText(response) };
  } catch (error) {
    signal.throwIfAborted();
    const totalMs = Math.round(performance.now() - startedAt);
    const unanswered = { status: null, connectMs: null, firstByteMs: null, retryAfterMs: null };
    return { record: { ...unanswered, totalMs, failure: failureCode(error) }, answer: null };
  }
}

function answerText({ headers, body, bodyTruncated }: OutboundResponse): string {
  return JSON.stringify({ headers, body: body.toString("utf8"), bodyTruncated });
}

type Result =
  | Omit<Extract<WebhookDeliveryCommand, { type: "RecordAttempt" }>, "at">
  | Omit<Extract<WebhookDeliveryCommand, { type: "AbandonDelivery" }>, "at">;

async function record(
  deliveryId: string,
  before: LoadedState<Existing>,
  result: Result,
  step: Readonly<{ name: string; cause: Cause }>,
  deps: WorkerDeps,
): Promise<Next> {
  const now = deps.now();
  const command = { ...result, at: now.toISOString() } as WebhookDeliveryCommand;
  const metadata = causedBy(step.cause, deterministicId(step.name, deliveryId), now);
  await handle(deps.store, webhookDelivery, { id: deliveryId, command, metadata }, before);
  // Worked out again instead of read again. Had another process been first with this very attempt,
  // its next one would have the same number, and so its job the same id.
  const { decide, evolve } = webhookDelivery;
  const state = decide(before.state, command).reduce<WebhookDeliveryState>(evolve, before.state);
  invariant(state.status !== "absent", "a recorded delivery exists");
  return nextOf(state);
}

function nextOf({ attempts, nextAttemptAt }: Existing): Next {
  if (nextAttemptAt === null) return undefined;
  return { attempt: attempts + 1, at: new Date(nextAttemptAt) };
}

/** From -1 to 1; drawn from the attempt itself, so that doing it again schedules the same. */
function jitterOf(deliveryId: string, number: number): number {
  const id = deterministicId("jitter", deliveryId, number);
  return Number.parseInt(id.slice(0, 8), 16) / 0x7fff_ffff - 1;
}
