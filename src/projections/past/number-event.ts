import type { Recorded } from "../../events/core/event.ts";
import { type LocalIdKind, localIdStream } from "../../events/core/local-id.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import { findCached } from "./cached-events.ts";

/** The event that gave a number. Numbers have no gaps, so the number says where in its stream that is. */
export async function numberEvent(
  kind: LocalIdKind,
  projectId: string,
  localId: number,
  store: EventStore,
): Promise<Recorded | undefined> {
  const stream = localIdStream(kind, projectId);
  return localId < 1 ? undefined : findCached(store, stream, BigInt(localId - 1));
}
