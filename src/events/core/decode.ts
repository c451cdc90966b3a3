import type { EventOf, EventSchemas, Recorded } from "./event.ts";
import { type Upcasters, upcast, upcasters } from "./upcast.ts";

/**
 * Turns a stored event back into a typed one of today. Fields it does not know are dropped, so a newer
 * writer cannot break an older reader; a missing or malformed field throws, so bad history stops
 * us instead of spreading.
 */
export function decode<Schemas extends EventSchemas>(
  schemas: Schemas,
  recorded: Recorded,
  table: Upcasters = upcasters,
): Recorded<EventOf<Schemas>> {
  const current = upcast(recorded, table);
  const { type } = current;
  const schema = Object.hasOwn(schemas, type) ? schemas[type] : undefined;
  if (schema === undefined) {
    throw new Error(`No schema for event type ${recorded.type} in ${recorded.stream}`);
  }
  // The schema looked up by the type has just checked the data: that is what the cast says.
  return { ...current, data: schema.parse(current.data) } as unknown as Recorded<EventOf<Schemas>>;
}
