import type { Recorded } from "../../events/core/event.ts";
import { type LocalIdKind, localIdStream } from "../../events/core/local-id.ts";
import {
  type Happened,
  happenedIn,
  numbersIn,
  type Until,
} from "../../projections/audit/happened.ts";
import { readRecorded } from "../../projections/audit/read-events.ts";
import type { Projection } from "../../projections/core/projection.ts";
import { type AsOf, wrongAsOf } from "./as-of.ts";
import type { Deps } from "./deps.ts";

const eventsMax = 20_000;
const bytesMax = 64 * 1024 ** 2;
const readMaxMs = 15_000;
const eventsAtOnce = 500;

export type Needed = Readonly<{
  asOf: AsOf;
  until: Until;
  placeId: string;
  /** Ids of the owners above the place. */
  above: readonly string[];
  params: Readonly<Record<string, unknown>>;
  /** Otherwise what was deleted since is deleted in the end. */
  includesDeleted: boolean;
}>;

/**
 * What the answer of an operation is made of, in the order of the log; at the end the deletions that came later.
 *
 * @throws Refusal 422 `as_of.too_many`
 */
export async function eventsAsOf(needed: Needed, deps: Deps): Promise<readonly Recorded[]> {
  const { asOf, placeId, above, until, includesDeleted } = needed;
  const reading = new Reading(deps);
  for (const id of [placeId, ...(asOf.above === true ? above : [])]) {
    const types = typesOf(asOf.readModels);
    await reading.add(await happenedIn(deps.db, { placeId: id, types, until, countMax }));
  }
  for (const kind of asOf.numbers ?? []) {
    const stream = localIdStream(kind, placeId);
    await reading.add(await numbersIn(deps.db, stream, { until, countMax }));
  }
  const subjectIds = await readNumbered(needed, reading, deps);
  const events = reading.inOrder();
  if (includesDeleted) return events;
  const since = { placeId, until: theEnd, countMax };
  const ends = [...(await happenedIn(deps.db, { ...since, types: deletions(asOf.readModels) }))];
  if (asOf.numbered !== undefined) {
    const types = deletions([asOf.numbered.readModel]);
    ends.push(...(await happenedIn(deps.db, { ...since, types, subjectIds })));
  }
  const known = new Set(events.map(({ position }) => position));
  const later = await reading.add(ends.filter(({ position }) => !known.has(position)));
  return [...events, ...later];
}

const deletions = (readModels: readonly Projection[]): readonly string[] =>
  typesOf(readModels).filter((type) => type.endsWith("Deleted"));

const countMax = eventsMax + 1;
const theEnd: Until = { position: 2n ** 63n - 1n };

/** @returns the id of the thing; nothing when no number was asked for, or it was never given */
async function readNumbered(
  { asOf: { numbered }, placeId, until, params }: Needed,
  reading: Reading,
  deps: Deps,
): Promise<readonly string[]> {
  if (numbered === undefined) return [];
  const { kind, readModel, parts: partsOf } = numbered;
  const number = await numberEvent(kind, placeId, Number(params["localId"]), deps);
  // The handler finds nothing then, and says so in its own words.
  if (number === undefined) return [];
  const subjectIds = [String(number.data["subjectId"])];
  const about = { placeId, types: typesOf([readModel]), until, countMax };
  const own = await reading.add(await happenedIn(deps.db, { ...about, subjectIds }));
  const parts = own.flatMap((event) => partsOf?.(event) ?? []);
  if (parts.length > 0) {
    await reading.add(await happenedIn(deps.db, { ...about, subjectIds: parts }));
  }
  reading.events.push(number);
  return subjectIds;
}

/** Numbers are read from their own streams: a project gives others to pipelines and jobs. */
const typesOf = (readModels: readonly Projection[]): readonly string[] =>
  [...new Set(readModels.flatMap(({ types }) => [...types]))].filter(
    (type) => type !== "LocalIdAssigned",
  );

/** Numbers have no gaps, so the number says where in its stream it was given. */
async function numberEvent(
  kind: LocalIdKind,
  projectId: string,
  localId: number,
  { store }: Deps,
): Promise<Recorded | undefined> {
  const stream = localIdStream(kind, projectId);
  for await (const event of store.readStream(stream, BigInt(localId - 1), 1)) return event;
  return undefined;
}

/** Reads events piece by piece, and gives up when they are more than one answer may take. */
class Reading {
  readonly events: Recorded[] = [];
  readonly #deps: Deps;
  readonly #startedAt = performance.now();
  #bytes = 0;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  async add(places: readonly Happened[]): Promise<readonly Recorded[]> {
    if (this.events.length + places.length > eventsMax) throw tooMuch();
    const added: Recorded[] = [];
    for (let from = 0; from < places.length; from += eventsAtOnce) {
      const some = places.slice(from, from + eventsAtOnce);
      for (const event of (await readRecorded(this.#deps.store, some)).values()) {
        this.#bytes += JSON.stringify(event.data).length;
        added.push(event);
      }
      const isSlow = performance.now() - this.#startedAt > readMaxMs;
      if (this.#bytes > bytesMax || isSlow) throw tooMuch();
    }
    this.events.push(...added);
    return added;
  }

  inOrder(): readonly Recorded[] {
    return [...this.events].sort((a, b) => (a.position < b.position ? -1 : 1));
  }
}

const tooMuch = () =>
  wrongAsOf(
    "as_of.too_many",
    `More than ${eventsMax} events would have to be read for this answer.`,
  );
