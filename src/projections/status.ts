import type { Knex } from "knex";
import type { EventStore } from "../platform/event-store.ts";
import { allProjections } from "./all.ts";
import { type CheckpointState, readCheckpoints } from "./checkpoint.ts";
import { readAfter } from "./feed.ts";

export type ProjectionStatus = Readonly<{
  name: string;
  state: CheckpointState;
  position: bigint;
  /** Distance to the newest event; counts events on a store that numbers them without holes. */
  lagPositions: bigint;
  /** Age of the oldest event that does not show yet; 0 when everything does. */
  lagSeconds: number;
}>;

const known = new Set(allProjections.map(({ name }) => name));

/** A standby takes over within a second; what lags longer than this needs somebody to look. */
const lagSecondsMax = 30;

/** For readiness and metrics. Without the reason of a failure: that may quote data. */
export async function projectionStatuses(
  db: Knex,
  store: EventStore,
  now: Date,
): Promise<readonly ProjectionStatus[]> {
  const head = await store.head();
  // A read model that a later release left out, or another version adds, is not this one's concern.
  const rows = (await readCheckpoints(db)).filter(({ name }) => known.has(name));
  const lags = new Map<bigint, number>();
  for (const { position } of rows) {
    if (head === undefined || position >= head || lags.has(position)) continue;
    lags.set(position, await ageOfNext(store, position, now));
  }
  return rows.map(({ name, state, position }) => ({
    name,
    state,
    position,
    lagPositions: head !== undefined && head > position ? head - position : 0n,
    lagSeconds: lags.get(position) ?? 0,
  }));
}

/** True when every read model is fed and shows what happened up to moments ago. */
export function areProjectionsReady(statuses: readonly ProjectionStatus[]): boolean {
  const upToDate = ({ state, lagSeconds }: ProjectionStatus) =>
    state === "live" && lagSeconds < lagSecondsMax;
  return statuses.length > 0 && statuses.every(upToDate);
}

async function ageOfNext(store: EventStore, position: bigint, now: Date): Promise<number> {
  for await (const event of store.readAll({ ...readAfter(position), countMax: 1 })) {
    return Math.max(0, now.getTime() - event.recordedAt.getTime()) / 1000;
  }
  return 0;
}
