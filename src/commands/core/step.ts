import type { EventMetadata } from "../../events/core/event.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";

/**
 * The metadata for one step of a process. Its command id is derived from that of the process, so
 * steps on one stream differ and a repeated process repeats the same commands.
 */
export function stepOf(
  metadata: EventMetadata,
  ...name: readonly (string | number)[]
): EventMetadata {
  return { ...metadata, commandId: deterministicId(metadata.commandId, ...name) };
}
