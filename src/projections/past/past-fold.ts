import type { Knex } from "knex";

import type { Recorded } from "../../events/core/event.ts";
import { type Happened, happenedIn, type Until } from "../audit/happened.ts";
import type { Filling, Fold } from "./fold.ts";
import { type FoundSource, keepSnapshot, type PastSource, typesOf } from "./snapshot.ts";

/** An answer applies fewer than so many events after a snapshot, which costs about as much as an answer. */
export const eventsPerSnapshot = 32;
/** About what an event takes in the log and in the audit. */
const bytesPerEvent = 1_024;

type FoldOptions = Readonly<{
  db: Knex;
  until: Until;
  countMax: number;
  /** In any order. */
  read: (happened: readonly Happened[]) => Promise<readonly Recorded[]>;
  /** The event that gave a thing its number, which is shown however early the time is. */
  number: (thing: NonNullable<PastSource["thing"]>) => Promise<Recorded | undefined>;
}>;

export type PastFold = Pick<Filling, "events" | "start" | "stop"> &
  Readonly<{
    /** Writes down what was folded on the way, if it is time for it; after the transaction of the fold. */
    keep: () => Promise<void>;
  }>;

/**
 * How the rows of a read model come about: from a snapshot and the events since. After every 32 events a snapshot is
 * made; large rows are written down less often, so that snapshots take no more than the events.
 *
 * @returns undefined where there is no such thing
 */
export async function pastFold(
  source: PastSource,
  found: FoundSource,
  options: FoldOptions,
): Promise<PastFold | undefined> {
  const { snapshot } = found;
  if (snapshot !== undefined) {
    const own = inOrder(await options.read(found.happened));
    const stop = await stopOf(source, own, { ...options, snapshot });
    return { events: own, start: snapshot.rows, ...stop };
  }
  if (source.thing === undefined) {
    const own = inOrder(await options.read(found.happened));
    return { events: own, ...(await stopOf(source, own, options)) };
  }
  const number = await options.number(source.thing);
  if (number === undefined) return undefined;
  const subjectId = String(number.data["subjectId"]);
  const { db, until, countMax } = options;
  const happened = await happenedIn(db, { ...aboutOf(source, subjectId), until, countMax });
  const own = inOrder(await options.read(happened));
  return {
    events: inOrder([...own, number]),
    ...(await stopOf(source, own, { ...options, numbered: number })),
  };
}

type StopOptions = FoldOptions &
  Readonly<{ snapshot?: FoundSource["snapshot"]; numbered?: Recorded }>;

/** @param own of the source, without the number */
async function stopOf(
  source: PastSource,
  own: readonly Recorded[],
  { db, until, countMax, snapshot, numbered }: StopOptions,
): Promise<Pick<PastFold, "stop" | "keep">> {
  const nothing = { keep: async () => undefined };
  const count = own.length - (own.length % eventsPerSnapshot);
  const last = own[count - 1];
  // A number that came late is missing in the rows, and is not read again where there is a snapshot.
  if (last === undefined || (numbered?.position ?? -1n) > last.position) return nothing;
  const subjectId = snapshot?.subjectId ?? (numbered && String(numbered.data["subjectId"])) ?? null;
  // By other clocks an event before the last one may be of a later time: later answers would miss it.
  if ("time" in until) {
    const about = { ...aboutOf(source, subjectId), after: snapshot?.position, countMax };
    const all = await happenedIn(db, { ...about, until: { position: last.position } });
    if (all.length !== count) return nothing;
  }
  let taken: Fold | undefined;
  return {
    stop: {
      after: count + (numbered === undefined ? 0 : 1),
      take: (rows, bytes) => {
        if (bytes <= count * bytesPerEvent) taken = rows;
      },
    },
    async keep() {
      if (taken === undefined) return;
      const times = own.slice(0, count).map(({ metadata }) => Date.parse(metadata.occurredAt));
      const latestAt = new Date(Math.max(snapshot?.latestAt.getTime() ?? 0, ...times));
      const { position } = last;
      await keepSnapshot(db, source, last, { position, latestAt, subjectId, rows: taken });
    },
  };
}

const aboutOf = ({ projection, placeId }: PastSource, subjectId: string | null) => ({
  placeId,
  types: typesOf([projection]),
  ...(subjectId !== null && { subjectIds: [subjectId] }),
});

export const inOrder = (events: readonly Recorded[]): readonly Recorded[] =>
  [...events].sort((a, b) => (a.position < b.position ? -1 : 1));
