import type { Knex } from "knex";

import type { Recorded } from "../../events/core/event.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import { Limit } from "../../platform/limit.ts";
import { readAfter } from "./feed.ts";
import { type Projection, type ProjectionContext, project } from "./projection.ts";

/** Each read model takes a page in a transaction, of which the statements and round trips are the same for any number of events. */
const pageEventsMax = 4_000;
/** Characters in the data of a page: an event may have 1 MiB of them, and some pages are in memory at one time. */
const pageTextMax = 8 * 1024 ** 2;
/** Pages that some read models have taken and others have not. */
const pagesAheadMax = 2;
/** Read models are built side by side on so many connections. */
export const buildersMax = 4;

export type PageBuild = Readonly<{
  deps: Readonly<{ context: ProjectionContext }>;
  next: Knex;
  remaining: readonly Projection[];
  /** Makes the tables of a read model, unless they are there; before its events, side by side with others. */
  prepare?: (projection: Projection) => Promise<void>;
}>;

/**
 * Lets every read model take every page in a transaction of its own, a few of them at a time. One that takes long over
 * a page does not keep the others from the next one.
 *
 * @returns the pages in their order, each once all read models have taken it
 */
export async function* takenPages(
  { deps, next, remaining, prepare = async () => undefined }: PageBuild,
  given: AsyncIterable<readonly Recorded[]>,
): AsyncGenerator<readonly Recorded[]> {
  const builders = new Limit({ name: "rebuild.pages", total: buildersMax, whenFull: "wait" });
  const context = { ...deps.context, isBuild: true };
  const lanes = new Map<Projection, Promise<void>>();
  const open: Promise<readonly Recorded[]>[] = [];
  const take = (projection: Projection, page: readonly Recorded[]): Promise<void> | undefined => {
    const events = page.filter(({ type }) => projection.types.has(type));
    const before = lanes.get(projection);
    if (events.length === 0) return before;
    const run = () =>
      builders.run(async () => {
        await prepare(projection);
        await project(next, projection, events, context);
      });
    const taken = before === undefined ? run() : before.then(run);
    lanes.set(projection, taken);
    return taken;
  };
  try {
    for await (const page of given) {
      const all = Promise.all(remaining.map((projection) => take(projection, page)));
      const taken = all.then(() => page);
      // Awaited on a later turn: until then nothing handles its failure.
      taken.catch(() => undefined);
      open.push(taken);
      if (open.length > pagesAheadMax) yield* await firstOf(open);
    }
    while (open.length > 0) yield* await firstOf(open);
  } finally {
    await Promise.allSettled(lanes.values());
  }
}

async function firstOf<Item>(open: Promise<Item>[]): Promise<readonly Item[]> {
  const first = open.shift();
  return first === undefined ? [] : [await first];
}

/** The next page is read while this one is worked on. */
export async function* pages(
  store: EventStore,
  after: bigint,
): AsyncGenerator<readonly Recorded[]> {
  const events = store.readAll(readAfter(after))[Symbol.asyncIterator]();
  try {
    let reading = readPage(events);
    for (;;) {
      const page = await reading;
      if (page.length === 0) return;
      reading = readPage(events);
      // Awaited on the next turn: until then nothing handles its failure.
      reading.catch(() => undefined);
      yield page;
    }
  } finally {
    await events.return?.();
  }
}

async function readPage(events: AsyncIterator<Recorded>): Promise<readonly Recorded[]> {
  const page: Recorded[] = [];
  let length = 0;
  while (page.length < pageEventsMax && length < pageTextMax) {
    const { done, value } = await events.next();
    if (done === true) break;
    page.push(value);
    length += textLength(value.data);
  }
  return page;
}

function textLength(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (value === null || typeof value !== "object") return 0;
  let length = 0;
  for (const part of Object.values(value)) length += textLength(part);
  return length;
}
