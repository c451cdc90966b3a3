import type { AnyEvent, EventOf, EventSchemas, Recorded } from "./event.ts";

/**
 * Turns a stored event back into a typed one. Fields it does not know are dropped, so a newer
 * writer cannot break an older reader; a missing or malformed field throws, so bad history stops
 * us instead of spreading.
 */
export function decode<Schemas extends EventSchemas>(
  schemas: Schemas,
  recorded: Recorded,
): Recorded<EventOf<Schemas>> {
  const schema = Object.hasOwn(schemas, recorded.type) ? schemas[recorded.type] : undefined;
  if (schema === undefined) {
    throw new Error(`No schema for event type ${recorded.type} in ${recorded.stream}`);
  }
  // The schema looked up by the type has just checked the data: that is what the cast says.
  return { ...recorded, data: schema.parse(recorded.data) } as unknown as Recorded<
    EventOf<Schemas>
  >;
}

/** Old shape in, current shape out; written once, when the meaning of a stored type changes. */
export type Upcaster = (event: AnyEvent) => AnyEvent;
