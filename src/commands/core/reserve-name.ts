import { randomUUID } from "node:crypto";

import { decode } from "../../events/core/decode.ts";
import type { EventMetadata, EventSchemas } from "../../events/core/event.ts";
import { reservationEvents } from "../../events/core/reservation.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "./decider.ts";
import { foldStream } from "./fold-stream.ts";
import { handle } from "./handle.ts";
import { reservation } from "./reservation.ts";

/**
 * A name reserved this long ago, for a holder that still does not exist, was left behind by a
 * process that died in between. The process itself takes seconds at most.
 */
const abandonedAfterMs = 60_000;

export type NameToReserve = Readonly<{
  /** The name's own stream: `aliasStream(…)`, `emailStream(…)`, … */
  name: string;
  holderId: string;
  /** Streams in which a holder of this kind of name would exist. */
  holderStreams: (holderId: string) => readonly string[];
  /**
   * For names that can be changed: whether an existing holder still uses this one. A change that died
   * half-way leaves the holder with two. Without this function, every existing holder holds the name.
   */
  stillHolds?: (holderId: string) => Promise<boolean>;
  /** The error for the caller when another holder has the name. */
  taken: Readonly<{ field: string; code: string; message: string }>;
}>;

type Deps = Readonly<{ store: EventStore; now: () => string }>;

/**
 * Takes a name for a holder that is about to be created, and may be repeated with the same holder.
 *
 * @throws Refusal `unprocessable` with the code given in `taken`.
 */
export async function reserveName(
  { store, now }: Deps,
  toReserve: NameToReserve,
  metadata: EventMetadata,
): Promise<void> {
  const { name, holderId, taken } = toReserve;
  const reserve = (abandonedHolderId?: string) =>
    handle(store, reservation, {
      id: name,
      command: { type: "ReserveName", holderId, abandonedHolderId, at: now() },
      metadata: ownCommand(metadata),
    });
  try {
    await reserve().catch(async (error: unknown) => {
      if (!(error instanceof Refusal)) throw error;
      const abandoned = await abandonedHolder(store, toReserve, Date.parse(now()));
      if (abandoned === undefined) throw error;
      return await reserve(abandoned);
    });
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== "reservation.taken") throw error;
    throw new Refusal("unprocessable", taken.code, taken.message, { errors: [taken] });
  }
}

export async function releaseName(
  { store, now }: Deps,
  name: string,
  holderId: string,
  metadata: EventMetadata,
): Promise<void> {
  const command = { type: "ReleaseName", holderId, at: now() } as const;
  await handle(store, reservation, { id: name, command, metadata: ownCommand(metadata) });
}

/**
 * Releases every former name of a holder, and all names of one that is gone. A name that another holder has by now
 * stays reserved for it, so this may be repeated at any time.
 *
 * @param heldBy the name of the holder in a state; undefined when it has none
 */
export async function releaseOldNames<State, Command, Schemas extends EventSchemas>(
  deps: Deps,
  slice: Slice<State, Command, Schemas>,
  { id, metadata }: Readonly<{ id: string; metadata: EventMetadata }>,
  heldBy: (state: State) => string | undefined,
): Promise<void> {
  const names = new Set<string>();
  const onEvent = (_: unknown, state: State): void => {
    const name = heldBy(state);
    if (name !== undefined) names.add(name);
  };
  const held = heldBy(await foldStream(deps.store, slice, slice.stream(id), { onEvent }));
  for (const name of names) if (name !== held) await releaseName(deps, name, id, metadata);
}

/**
 * A name can be reserved, released and reserved again on behalf of one request, so the request's
 * command id does not prove that it was done: what repeats harmlessly here is the state.
 */
const ownCommand = (metadata: EventMetadata): EventMetadata => ({
  ...metadata,
  commandId: randomUUID(),
});

async function abandonedHolder(
  store: EventStore,
  { name, holderStreams, stillHolds = async () => true }: NameToReserve,
  nowMs: number,
): Promise<string | undefined> {
  for await (const recorded of store.readStreamBackwards(name, 1)) {
    const event = decode(reservationEvents, recorded);
    if (event.type !== "NameReserved") return undefined;
    if (nowMs - Date.parse(event.data.reservedAt) < abandonedAfterMs) return undefined;
    const { holderId } = event.data;
    const exists = await anyExists(store, holderStreams(holderId));
    return exists && (await stillHolds(holderId)) ? undefined : holderId;
  }
  return undefined;
}

async function anyExists(store: EventStore, streams: readonly string[]): Promise<boolean> {
  for (const stream of streams) {
    for await (const _ of store.readStreamBackwards(stream, 1)) return true;
  }
  return false;
}
