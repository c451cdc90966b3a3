import type { RecordedEvent } from "@eventstore/db-client";

import type { Recorded } from "../../events/core/event.ts";

/** Events of the store itself: metadata, tombstones, statistics. */
export const isSystemEvent = (type: string): boolean => type.startsWith("$");

export function recordedOf(event: RecordedEvent): Recorded {
  if (event.position === undefined) {
    throw new Error(`The event store gave no position for ${event.id}; it is too old`);
  }
  // The envelope was checked when the event was made; slices parse the data when they decode it.
  return {
    id: event.id,
    type: event.type,
    data: event.data,
    metadata: event.metadata,
    stream: event.streamId,
    revision: event.revision,
    position: event.position.commit,
    recordedAt: event.created,
  } as unknown as Recorded;
}
