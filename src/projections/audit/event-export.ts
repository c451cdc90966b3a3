import type { Recorded } from "../../events/core/event.ts";
import { Sealed } from "../../events/core/sealed.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";

type Open = (sealed: Sealed) => Promise<string | null>;

/** Fields that hold secrets; they are left out wherever they stand. */
const secretField = /password|secret|tokenHash/i;

/**
 * Every event as a line of JSON, in order. Personal data is in clear, or null once forgotten. What
 * is sealed for a project, and every field that holds a secret, is null: an export travels.
 */
export async function* exportEvents(
  store: Pick<EventStore, "readAll">,
  open: Open,
): AsyncGenerator<string> {
  for await (const event of store.readAll()) yield JSON.stringify(await exported(event, open));
}

async function exported(event: Recorded, open: Open): Promise<unknown> {
  const { position, stream, revision, id, type, data, metadata, recordedAt } = event;
  return {
    position: String(position),
    stream,
    revision: String(revision),
    id,
    type,
    data: await opened(data, open),
    metadata: await opened(metadata, open),
    recordedAt,
  };
}

async function opened(value: unknown, open: Open): Promise<unknown> {
  if (Array.isArray(value)) return Promise.all(value.map((part) => opened(part, open)));
  if (value !== null && typeof value === "object") {
    const parts = Object.entries(value).map(async ([field, part]) => [
      field,
      secretField.test(field) ? null : await opened(part, open),
    ]);
    return Object.fromEntries(await Promise.all(parts));
  }
  const sealed = Sealed.safeParse(value);
  if (!sealed.success) return value;
  return sealed.data.startsWith("sealed.user-") ? open(sealed.data) : null;
}
