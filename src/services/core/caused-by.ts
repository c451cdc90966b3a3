import type { Slice } from "../../commands/core/decider.ts";
import { foldStream } from "../../commands/core/fold-stream.ts";
import type { LoadedState } from "../../commands/core/handle.ts";
import type { EventMetadata, EventSchemas, Recorded } from "../../events/core/event.ts";
import { bySystem } from "../../events/core/system.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";

/** What a stream adds up to, and what a step that follows from it goes on from. */
export type Loaded<State> = LoadedState<State> &
  Readonly<{
    /** Of the stream; undefined when there is no event in it. */
    last: Pick<Recorded, "id" | "metadata"> | undefined;
  }>;

export async function load<State, Command, Schemas extends EventSchemas>(
  store: EventStore,
  slice: Slice<State, Command, Schemas>,
  id: string,
): Promise<Loaded<State>> {
  let last: Recorded | undefined;
  const onEvent = (recorded: Recorded): void => {
    last = recorded;
  };
  const state = await foldStream(store, slice, slice.stream(id), { onEvent });
  return { state, last, revision: last?.revision ?? "none", position: last?.position };
}

/**
 * The envelope of what the system does because of an event. Whose request began it all stays
 * known by the correlation id.
 *
 * @param commandId names the step after what caused it, so that doing it again writes nothing
 */
export function causedBy(
  cause: Pick<Recorded, "id" | "metadata">,
  commandId: string,
  now: Date,
): EventMetadata {
  const { correlationId } = cause.metadata;
  return bySystem({ commandId, correlationId, causationId: cause.id }, now.toISOString());
}

/** The same in the name of who acted: the change that is recorded is theirs. */
export const causedAs = (
  cause: Pick<Recorded, "id" | "metadata">,
  commandId: string,
  now: Date,
): EventMetadata => ({ ...causedBy(cause, commandId, now), actor: cause.metadata.actor });
