import { LRUCache } from "lru-cache";

import type { EventSchemas } from "../../events/core/event.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "./decider.ts";
import { type CommandResult, handleKnown, type Known, type Order } from "./handle.ts";

/** Of a store, by stream: what this process last knew of it. */
type Kept = LRUCache<string, Known<unknown>>;

const streamsMax = 5_000;
const keptBy = new WeakMap<EventStore, Kept>();

/**
 * As `handle`, for streams that one process writes several times in a short while: it decides by what it wrote itself and
 * does not read the stream first. The append is refused where another process has written since, and the stream is read then.
 * It is read as well before a command is refused or changes nothing, because what another process wrote may
 * decide otherwise. The id of the command must be new each time; see `known` of `handle`. The state is small.
 *
 * @param first what the stream is taken for where this process has not written it
 */
export async function handleKept<State, Command, Schemas extends EventSchemas>(
  store: EventStore,
  slice: Slice<State, Command, Schemas>,
  order: Order<Command>,
  first?: Known<State>,
): Promise<CommandResult> {
  const kept = keptOf(store);
  const stream = slice.stream(order.id);
  const known = (kept.get(stream) as Known<State> | undefined) ?? first;
  const result =
    (await byKept(store, slice, order, known)) ?? (await handleKnown(store, slice, order));
  // Of two commands that end at once, the later state is kept.
  const other = kept.get(stream)?.position;
  if (other === undefined || result.position === undefined || other < result.position) {
    kept.set(stream, result);
  }
  return { position: result.position };
}

/** Undefined where what is kept does not suffice to answer. */
async function byKept<State, Command, Schemas extends EventSchemas>(
  store: EventStore,
  slice: Slice<State, Command, Schemas>,
  order: Order<Command>,
  known: Known<State> | undefined,
): Promise<Known<State> | undefined> {
  if (known === undefined) return undefined;
  try {
    const result = await handleKnown(store, slice, order, known);
    return result.position === known.position ? undefined : result;
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

function keptOf(store: EventStore): Kept {
  const known = keptBy.get(store) ?? new LRUCache<string, Known<unknown>>({ max: streamsMax });
  keptBy.set(store, known);
  return known;
}
