import type { RecordedEvent } from "@eventstore/db-client";

import type { Recorded } from "../../events/core/event.ts";
import { isForeign } from "./event-owner.ts";

export function recordedOf(event: RecordedEvent): Recorded {
  if (event.position === undefined) {
    throw new Error(`The event store gave no position for ${event.id}; it is too old`);
  }
  // Slices parse the data when they decode it.
  return {
    id: event.id,
    type: event.type,
    data: event.data,
    metadata: event.metadata,
    stream: event.streamId,
    revision: event.revision,
    position: event.position.commit,
    recordedAt: event.created,
    ...(isForeign({ stream: event.streamId, metadata: event.metadata }, event.isJson) && foreign),
  } as unknown as Recorded;
}

const foreign = { isForeign: true } as const;
