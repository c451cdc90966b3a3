import type { Knex } from "knex";
import type { EventStore } from "../platform/event-store/event-store.ts";
import { allProjections } from "./all.ts";
import {
  beforeEverything,
  type CheckpointState,
  readAfter,
  readCheckpoints,
  unbuiltVersion,
} from "./core/checkpoint.ts";

/** How far something that follows the log is behind it. */
export type Lag = Readonly<{
  /** Distance to the newest event; counts events on a store that numbers them without holes. */
  lagPositions: bigint;
  /** Age of the oldest event that was not come to; 0 when there is none. */
  lagSeconds: number;
}>;

export type ProjectionStatus = Lag &
  Readonly<{
    name: string;
    state: CheckpointState;
    position: bigint;
  }>;

const names = new Set(allProjections.map(({ name }) => name));

/** A standby takes over within a second; a lag longer than this needs an operator. */
const lagSecondsMax = 30;

/** For readiness and metrics. Without the reason of a failure: that may quote data. */
export async function projectionStatuses(
  db: Knex,
  store: EventStore,
  now: Date,
): Promise<readonly ProjectionStatus[]> {
  // A read model that a later release left out, or another version adds, is not this one's concern.
  const rows = (await readCheckpoints(db)).filter(({ name }) => names.has(name));
  const behind = await lags(
    store,
    rows.map(({ position }) => position),
    now,
  );
  return rows.map(({ name, state, position }) => ({ name, state, position, ...behind(position) }));
}

/** Names of read models whose tables the projections have not made: on a new instance, and after an upgrade. */
export async function uninstalledProjections(db: Knex): Promise<readonly string[]> {
  const rows = (await readCheckpoints(db)).filter(({ version }) => version !== unbuiltVersion);
  const installed = new Set(rows.map(({ name }) => name));
  return [...names].filter((name) => !installed.has(name));
}

/** False until the projections know all of them. Some may still be built again: what reads their tables tries again. */
export async function areProjectionsInstalled(db: Knex): Promise<boolean> {
  const there = new Set((await readCheckpoints(db)).map(({ name }) => name));
  return [...names].every((name) => there.has(name));
}

/** Queries the log for each place in it once. */
export async function lags(
  store: EventStore,
  positions: readonly bigint[],
  now: Date,
): Promise<(position: bigint) => Lag> {
  const head = (await store.head()) ?? beforeEverything;
  const seconds = new Map<bigint, number>();
  for (const position of new Set(positions)) {
    if (position < head) seconds.set(position, await ageOfNext(store, position, now));
  }
  return (position) => ({
    lagPositions: head > position ? head - position : 0n,
    lagSeconds: seconds.get(position) ?? 0,
  });
}

/** True when every read model is fed and shows what happened up to moments ago. */
export function areProjectionsReady(statuses: readonly ProjectionStatus[]): boolean {
  const upToDate = ({ state, lagSeconds }: ProjectionStatus) =>
    state === "live" && lagSeconds < lagSecondsMax;
  return statuses.length > 0 && statuses.every(upToDate);
}

async function ageOfNext(store: EventStore, position: bigint, now: Date): Promise<number> {
  for await (const event of store.readAll({ ...readAfter(position), countMax: 1 })) {
    // Both by the clock of the store: that of this machine may be another.
    const storeMs = now.getTime() + store.clockAheadMs();
    return Math.max(0, storeMs - event.recordedAt.getTime()) / 1000;
  }
  return 0;
}
