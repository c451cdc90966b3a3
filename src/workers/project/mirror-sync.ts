import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { currentState, handle } from "../../commands/core/handle.ts";
import { type Mirror, type MirrorCommand, mirror } from "../../commands/project/mirror.ts";
import type { EventMetadata } from "../../events/core/event.ts";
import { bySystem } from "../../events/core/system.ts";
import { openRemote, RemoteFailure } from "../../git/remote.ts";
import { noLimit } from "../../platform/blob/room.ts";
import { asCaller } from "../../platform/caller.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import type { Job } from "../../platform/queue/queue.ts";
import { findSettings } from "../../projections/instance/settings.ts";
import {
  findMirrorSync,
  type MirrorSyncRow,
  nextSyncAt,
} from "../../projections/project/mirror-sync.ts";
import { findProjectById, type ProjectRow } from "../../projections/project/project.ts";
import { projectBytesLeft, roomInRepository } from "../../projections/project/repository-size.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import { defineWorker } from "../core/worker.ts";
import { pull } from "./mirror-pull.ts";
import { dropSync, endTurn, keepTurn, takeTurn, turnMs } from "./mirror-turn.ts";

const queue = "mirror-sync";
const minuteMs = 60_000;
const pauseMaxMs = 12 * 60 * minuteMs;
const Credentials = z.object({ username: z.string(), token: z.string() });

/** A check of one mirror, at that time. The same occasion makes one job. */
export const mirrorJob = (projectId: string, occasion: string | number, delayMs = 0): Job => ({
  queue,
  id: deterministicId("mirror", projectId, occasion),
  data: { projectId },
  delayMs,
});

/**
 * Syncs one mirror, if it is due and no worker holds its turn. The result is kept in its row, and recorded
 * in the log when it breaks and when it works again; the job itself does not fail.
 */
export const mirrorSyncWorker = defineWorker({
  queue,
  concurrency: 4,
  payload: z.object({ projectId: z.uuid() }),
  async run({ projectId }, deps, signal) {
    const state = await currentState(deps.store, mirror, projectId);
    if (state.status === "off") return dropSync(deps.db, projectId);
    const project = await findProjectById(deps.db, projectId);
    // Of a deleted project: it goes on when that is restored.
    if (project === undefined || project.mirror_id !== state.mirrorId) return;
    const row = await findMirrorSync(deps.db, projectId, state.mirrorId);
    if (row === undefined || !(await isDue(deps, row))) return;
    const runner = randomUUID();
    if (!(await takeTurn(deps.db, state, runner, deps.now()))) return;
    await work(deps, { mirror: state, project, runner, failures: row.failures }, signal);
    const after = await findMirrorSync(deps.db, projectId, state.mirrorId);
    if (after !== undefined) await isDue(deps, after);
  },
});

/** Adds a job when a requested sync is due soon; the sweep adds those of intervals. */
async function isDue(deps: WorkerDeps, row: MirrorSyncRow): Promise<boolean> {
  const at = nextSyncAt(row, await findSettings(deps.db));
  const waitMs = at.getTime() - deps.now().getTime();
  if (waitMs <= 0) return true;
  if (row.due_at !== null && waitMs < minuteMs) {
    await deps.queues.add([mirrorJob(row.project_id, at.getTime(), waitMs)]);
  }
  return false;
}

type Turn = Readonly<{
  mirror: Mirror;
  project: ProjectRow;
  runner: string;
  /** In a row, before this one. */
  failures: number;
}>;

async function work(deps: WorkerDeps, turn: Turn, signal: AbortSignal): Promise<void> {
  const { db, now } = deps;
  const { runner, failures } = turn;
  const ending = new AbortController();
  const holding = hold(deps, turn, ending);
  const either = AbortSignal.any([signal, ending.signal]);
  try {
    const but = await asCaller(turn.project.owner_user_id, () => sync(deps, turn, either));
    await recordOutcome(deps, turn, but ?? { type: "RecordMirrorSuccess" });
    await endTurn(db, runner, { how: "succeeded", at: now(), but });
  } catch (error) {
    if (either.aborted) {
      await endTurn(db, runner, { how: "stopped", at: now() });
      signal.throwIfAborted();
      return;
    }
    const failure = failureOf(error);
    if (failure.code === "mirror.internal") deps.log.error({ err: error }, "mirror failed");
    const retryAt = new Date(now().getTime() + Math.min(minuteMs * 2 ** failures, pauseMaxMs));
    await recordOutcome(deps, turn, failure);
    await endTurn(db, runner, { how: "failed", failure, retryAt });
  } finally {
    ending.abort();
    await holding;
  }
}

/** Says that the work goes on; ends it when the mirror was removed or made anew meanwhile. */
async function hold({ db }: WorkerDeps, { mirror: key, runner }: Turn, ending: AbortController) {
  const { signal } = ending;
  for (;;) {
    await delay(turnMs / 30, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    const kept = await keepTurn(db, key, runner).catch(() => true);
    if (!kept) return ending.abort();
  }
}

/** @returns what could not be done although all else was */
async function sync(
  deps: WorkerDeps,
  turn: Turn,
  signal: AbortSignal,
): Promise<Failure | undefined> {
  const { project } = turn;
  const { type, url, credentials } = turn.mirror.target;
  const repository = await deps.git.ensure(project.id, project.default_branch);
  const opened = credentials === null ? null : await deps.vault.open(credentials);
  let came = 0;
  const room = type === "PULL" ? roomInRepository(project, deps, () => came) : noLimit;
  const remote = await openRemote({
    repository,
    url,
    credentials: opened === null ? null : Credentials.parse(JSON.parse(opened)),
    proxy: deps.proxy,
    bytesMax: await projectBytesLeft(deps)(project),
    async reach(bytes) {
      await room.reach(bytes);
      came = bytes;
    },
    signal,
  });
  try {
    if (type === "PULL") {
      const metadata = metadataOf(deps, turn);
      const refused = await pull(deps, { project, repository, remote, metadata, signal });
      return refused.length > 0 ? leftAlone(refused) : undefined;
    }
    const [here, there] = [await repository.refs(), await remote.refs()];
    if (here.size === 0 && there.refs.size > 0) throw nothingToPush();
    const differs = [...here].some(([ref, id]) => there.refs.get(ref) !== id);
    if (differs || here.size !== there.refs.size) await remote.push();
    return undefined;
  } finally {
    remote.close();
    await room.release();
  }
}

type Failure = Pick<
  Extract<MirrorCommand, { type: "RecordMirrorFailure" }>,
  "type" | "code" | "reason"
>;

const failure = (code: string, reason: string): Failure => ({
  type: "RecordMirrorFailure",
  code,
  reason,
});

function leftAlone(refs: readonly string[]): Failure {
  const named = refs.slice(0, 10).join(", ");
  const more = refs.length > 10 ? ` and ${refs.length - 10} more` : "";
  return failure(
    "mirror.protected",
    `Protection rules do not let the mirror change ${named}${more}.`,
  );
}

function nothingToPush(): RemoteFailure {
  const message = "The project has no branches yet: what the other repository has is left there.";
  return new RemoteFailure("mirror.empty", message);
}

function failureOf(error: unknown): Failure {
  if (error instanceof RemoteFailure) return failure(error.code, error.message);
  return failure("mirror.internal", "Something went wrong here; see the service's log.");
}

type Outcome = Failure | Readonly<{ type: "RecordMirrorSuccess" }>;

async function recordOutcome(deps: WorkerDeps, turn: Turn, what: Outcome): Promise<void> {
  const { mirrorId, projectId } = turn.mirror;
  const command = { ...what, mirrorId, at: deps.now().toISOString() };
  const metadata = metadataOf(deps, turn);
  await handle(deps.store, mirror, { id: projectId, command, metadata });
}

/** The system's doing. Each attempt has a name of its own. */
function metadataOf({ now }: WorkerDeps, { mirror: { mirrorId }, runner }: Turn): EventMetadata {
  const commandId = deterministicId("mirror", runner);
  return bySystem({ commandId, correlationId: `mirror-${mirrorId}` }, now().toISOString());
}
