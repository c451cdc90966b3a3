import { type StoredEvent, tombstoneRevision } from "./event.ts";
import { StoreFailure } from "./failure.ts";
import type { Filter } from "./filter.ts";
import type { Page, Reader } from "./reader.ts";
import type { Tail } from "./tail.ts";
import { allTopic, type Topics } from "./topics.ts";

export type SubscriptionMessage =
  | Readonly<{ kind: "event"; event: StoredEvent }>
  | Readonly<{ kind: "checkpoint"; position: bigint }>
  | Readonly<{ kind: "caughtUp" | "fellBehind" }>;

export type Source = Readonly<{ reader: Reader; tail: Tail; topics: Topics }>;

const livePageMax = 500;

/**
 * The log after `after`, for ever. The position reached is all the state there is: whether the next
 * events come from the database or from memory, they are those that follow it, so nothing is lost
 * or repeated where one changes into the other.
 */
export async function* subscribeToAll(
  { reader, tail, topics }: Source,
  options: Readonly<{ after: bigint; filter: Filter | undefined; signal: AbortSignal }>,
): AsyncGenerator<SubscriptionMessage> {
  const { filter, signal } = options;
  const changed = topics.watch(allTopic, signal);
  const checkpoints = checkpointsOf(filter);
  let position = options.after;
  let isLive = false;

  while (!signal.aborted) {
    const page = tail.after(position, livePageMax);
    if (page === undefined) {
      if (isLive) yield { kind: "fellBehind" };
      isLive = false;
      for await (const stored of reader.allForwards(position + 1n)) {
        yield* passOn(stored, filter, checkpoints);
        position = stored.at(-1)?.position ?? position;
        if (signal.aborted) return;
      }
    } else if (page.length > 0) {
      yield* passOn(page, filter, checkpoints);
      position = page.at(-1)?.position ?? position;
    } else {
      if (!isLive) {
        isLive = true;
        if (filter !== undefined && position > 0n) yield { kind: "checkpoint", position };
        yield { kind: "caughtUp" };
        continue;
      }
      await changed();
    }
  }
}

type Checkpoints = (considered: StoredEvent) => boolean;

/** Returns whether the reader is due a checkpoint after this event. */
function checkpointsOf(filter: Filter | undefined): Checkpoints {
  let considered = 0;
  return () => {
    considered += 1;
    return filter !== undefined && considered % filter.checkpointInterval === 0;
  };
}

function* passOn(
  page: Page,
  filter: Filter | undefined,
  checkpoints: Checkpoints,
): Generator<SubscriptionMessage> {
  const selected = filter === undefined ? undefined : new Set(filter.select(page));
  for (const event of page) {
    if (selected === undefined || selected.has(event)) yield { kind: "event", event };
    if (checkpoints(event)) yield { kind: "checkpoint", position: event.position };
  }
}

/**
 * A stream from revision `from` (inclusive), for ever; from its end when undefined. Until it has
 * caught up it sees what a reader of the stream sees; from then on every event.
 *
 * @throws StoreFailure streamDeleted, once the stream is tombstoned.
 */
export async function* subscribeToStream(
  { reader, topics }: Source,
  options: Readonly<{ stream: string; from: bigint | undefined; signal: AbortSignal }>,
): AsyncGenerator<SubscriptionMessage> {
  const { stream, signal } = options;
  const changed = topics.watch(stream, signal);
  let next = options.from;
  let isLive = false;

  while (!signal.aborted) {
    const view = await reader.viewOf(stream);
    if (view.kind === "tombstoned") throw new StoreFailure({ kind: "streamDeleted", stream });
    next ??= view.last + 1n;
    if (view.kind === "present") {
      const first = !isLive && view.first > next ? view.first : next;
      const createdMin = isLive ? 0n : view.createdMin;
      const range = { from: first, to: tombstoneRevision, createdMin };
      for await (const page of reader.streamForwards(stream, range)) {
        for (const event of page) yield { kind: "event", event };
        next = (page.at(-1)?.revision ?? next) + 1n;
        if (signal.aborted) return;
      }
    }
    if (!isLive) {
      isLive = true;
      // What was out of sight until here stays so, also when the stream is undeleted later.
      if (next <= view.last) next = view.last + 1n;
      yield { kind: "caughtUp" };
    }
    await changed();
  }
}
