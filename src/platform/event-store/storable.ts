import type { NewEvent } from "../../events/core/event.ts";
import { Refusal } from "../refusal.ts";
import { isStorableValue } from "../storable-text.ts";

/** What EventStoreDB takes in one append when it is not configured otherwise. */
const appendBytesMax = 1024 ** 2;

/**
 * Refuses events that no store or read model can take, before they are sent: the last guard behind the
 * checks at the edge, and the only one for what comes out of repositories and from other services.
 *
 * @throws Refusal 422 `event.too_large`, `event.text_malformed`
 */
export function mustBeStorable(events: readonly NewEvent[]): void {
  let bytes = 0;
  for (const { type, data, metadata } of events) {
    if (!isStorableValue(data) || !isStorableValue(metadata)) {
      const message = `${type} holds a NUL or half of a surrogate pair.`;
      throw new Refusal("unprocessable", "event.text_malformed", message);
    }
    bytes += Buffer.byteLength(JSON.stringify(data)) + Buffer.byteLength(JSON.stringify(metadata));
  }
  if (bytes <= appendBytesMax) return;
  const message = `${events[0]?.type} and what belongs to it is over ${appendBytesMax} bytes.`;
  throw new Refusal("unprocessable", "event.too_large", message);
}
