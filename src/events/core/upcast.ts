import type { AnyEvent } from "./event.ts";

/** What a stored type, whose meaning has changed since, is read as. */
export type Upcaster = Readonly<{
  /** The type that took its place. */
  to: string;
  /** Old data in, data of the new type out; pure, because the log is read again and again. */
  upcast: (data: AnyEvent["data"]) => AnyEvent["data"];
}>;

export type Upcasters = Readonly<Record<string, Upcaster>>;

/**
 * By the type's name as it was stored. An entry stays for ever, with a frozen example of the old
 * type in test/events: the log still holds it.
 */
export const upcasters: Upcasters = {};

/** The event as it is understood today; a type that changed twice goes both steps. */
export function upcast<Event extends AnyEvent>(event: Event, table: Upcasters = upcasters): Event {
  let current = event;
  for (;;) {
    const step = Object.hasOwn(table, current.type) ? table[current.type] : undefined;
    if (step === undefined) return current;
    current = { ...current, type: step.to, data: step.upcast(current.data) };
  }
}

/** The types, and those that were stored under a former name and are read as one of them. */
export function withFormerTypes(
  types: Iterable<string>,
  table: Upcasters = upcasters,
): ReadonlySet<string> {
  const all = new Set(types);
  for (let size = -1; size !== all.size; ) {
    size = all.size;
    for (const [former, { to }] of Object.entries(table)) if (all.has(to)) all.add(former);
  }
  return all;
}
