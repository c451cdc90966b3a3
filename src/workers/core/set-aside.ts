import type { Knex } from "knex";
import { z } from "zod";

import type { Recorded } from "../../events/core/event.ts";
import { upcast } from "../../events/core/upcast.ts";
import { asOperation, isSuspended } from "../../platform/event-loop/operation.ts";
import { RevisionConflict } from "../../platform/event-store/event-store.ts";
import { isUnbuilt } from "../../platform/postgres-error.ts";
import { type Job, PermanentFailure } from "../../platform/queue/queue.ts";
import { Refusal, type RefusalKind } from "../../platform/refusal.ts";
import { clipText, storableText } from "../../platform/storable-text.ts";
import { mayPass } from "../../projections/core/retry.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import type { Reactor } from "./reactor.ts";
import type { Sweep } from "./sweep.ts";

const table = "public.reactor_set_aside";
const reasonLengthMax = 1_000;
/** With the pauses between them about 25 s. */
const attemptsMax = 8;

/** An event that a reactor could not react to. */
export type SetAside = Readonly<{
  reactor: string;
  event_id: string;
  stream: string;
  revision: bigint;
  type: string;
  reason: string;
  set_aside_at: Date;
  /** Null unless an operator requested another try. */
  retry_requested_at: Date | null;
}>;

/** Reacts to one event after another; one that cannot succeed is set aside. */
export type PatientReaction = (event: Recorded) => Promise<readonly Job[]>;

/**
 * Reacts to events of one reactor. An event whose failure is permanent is set aside at once; one that
 * fails for an unknown reason, after eight attempts. Outages of stores are never a reason.
 *
 * @throws what the reactor throws while another attempt may succeed
 */
export function patiently(reactor: Reactor, deps: WorkerDeps): PatientReaction {
  let failing: Readonly<{ id: string; attempts: number }> = { id: "", attempts: 0 };
  return async (event) => {
    const running = { name: `reactor-${reactor.name}`, caller: `event ${event.id}` };
    try {
      if (isSuspended(running)) throw new PermanentFailure("It has stopped the process twice.");
      return await asOperation(running, () => reactor.react(event, deps));
    } catch (error) {
      const attempts = failing.id === event.id ? failing.attempts + 1 : 1;
      failing = { id: event.id, attempts };
      if (!isPermanent(error) && (attempts < attemptsMax || isOutage(error))) throw error;
      await setAside(deps.db, reactor, event, error);
      const { type, stream, revision } = event;
      const key = { reactor: reactor.name, type, stream, revision: String(revision) };
      deps.log.error({ err: error, ...key }, "event set aside");
      return [];
    }
  };
}

/** Of refusals that a later attempt may not meet. */
export const passing: ReadonlySet<RefusalKind> = new Set(["unavailable", "too_many", "conflict"]);

function isPermanent(error: unknown): boolean {
  if (error instanceof PermanentFailure || error instanceof z.ZodError) return true;
  return error instanceof Refusal && !passing.has(error.kind);
}

/** Of a store, the machine or another writer: trying again is the only answer. */
function isOutage(error: unknown): boolean {
  if (mayPass(error) || isUnbuilt(error) || error instanceof RevisionConflict) return true;
  if (error instanceof Refusal) return error.kind === "unavailable" || error.kind === "too_many";
  return error instanceof Error && "code" in error && /^E[A-Z]+$/.test(String(error.code));
}

async function setAside(
  db: Knex,
  { name }: Reactor,
  { id, stream, revision, type }: Recorded,
  error: unknown,
): Promise<void> {
  const row = { reactor: name, event_id: id, stream, revision, type, reason: reasonOf(error) };
  await db(table).insert(row).onConflict(["reactor", "event_id"]).merge(["reason"]);
}

function reasonOf(error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error);
  return clipText(storableText(reason), reasonLengthMax);
}

/** Oldest first. */
export function listSetAside(db: Knex): Promise<readonly SetAside[]> {
  return db<SetAside>(table).orderBy(["set_aside_at", "reactor", "event_id"]);
}

/** How many events each reactor has set aside; those with none are left out. */
export async function countSetAside(db: Knex): Promise<ReadonlyMap<string, number>> {
  const rows = await db<SetAside>(table)
    .groupBy("reactor")
    .select("reactor")
    .count<{ reactor: string; events: string }[]>({ events: "*" });
  return new Map(rows.map(({ reactor, events }) => [reactor, Number(events)]));
}

/**
 * Has events tried again by the process that runs the reactors, within a minute.
 *
 * @param eventId all events when undefined
 * @returns how many
 */
export function requestRetry(db: Knex, eventId?: string): Promise<number> {
  return db(table)
    .modify((query) => {
      if (eventId !== undefined) query.where("event_id", eventId);
    })
    .update({ retry_requested_at: db.fn.now() });
}

/** Tries again what an operator requested. What fails again stays set aside, with the new reason. */
export const retrySetAside =
  (reactors: readonly Reactor[]): Sweep =>
  async (deps) => {
    const rows = await deps
      .db<SetAside>(table)
      .whereNotNull("retry_requested_at")
      .orderBy(["set_aside_at", "event_id"]);
    for (const row of rows) {
      const { reactor: name, event_id } = row;
      try {
        await reactAgain(row, reactors, deps);
        await deps.db(table).where({ reactor: name, event_id }).delete();
        deps.log.info({ reactor: name, eventId: event_id }, "event no longer set aside");
      } catch (error) {
        const change = { retry_requested_at: null, reason: reasonOf(error) };
        await deps.db(table).where({ reactor: name, event_id }).update(change);
        deps.log.warn({ err: error, reactor: name, eventId: event_id }, "event failed again");
      }
    }
  };

async function reactAgain(
  { reactor: name, event_id, stream, revision }: SetAside,
  reactors: readonly Reactor[],
  deps: WorkerDeps,
): Promise<void> {
  const reactor = reactors.find((each) => each.name === name);
  if (reactor === undefined) throw new PermanentFailure(`There is no reactor ${name} any more.`);
  for await (const event of deps.store.readStream(stream, revision)) {
    if (event.id !== event_id) break;
    await deps.queues.add(await reactor.react(upcast(event), deps));
    return;
  }
  throw new PermanentFailure(`There is no event ${event_id} in ${stream}.`);
}
