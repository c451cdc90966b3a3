import { decode } from "../../events/core/decode.ts";
import type { EventSchemas, Recorded } from "../../events/core/event.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import type { Slice } from "./decider.ts";

type Reading<State> = Readonly<{
  /** Reads only what follows: the state after the event of this revision. */
  after?: Readonly<{ state: State; revision: bigint }> | undefined;
  /** Called for each event, with the state after it. */
  onEvent?: (recorded: Recorded, state: State) => void;
}>;

/** What the events of a stream add up to. */
export async function foldStream<State, Command, Schemas extends EventSchemas>(
  store: EventStore,
  { events, initialState, evolve }: Slice<State, Command, Schemas>,
  stream: string,
  { after, onEvent }: Reading<State> = {},
): Promise<State> {
  let state = after?.state ?? initialState;
  for await (const recorded of store.readStream(stream, (after?.revision ?? -1n) + 1n)) {
    state = evolve(state, decode(events, recorded));
    onEvent?.(recorded, state);
  }
  return state;
}
