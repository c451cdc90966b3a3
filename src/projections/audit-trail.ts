import type { Knex } from "knex";
import type { Actor, Recorded } from "../events/event.ts";
import { Sealed } from "../events/sealed.ts";
import type { EventStore } from "../platform/event-store.ts";
import { type AuditEntryRow, type AuditFilter, listAuditEntries } from "./audit-entry.ts";
import { StreamReader } from "./stream-reader.ts";

/** One field as it was and as it became; undefined where there is nothing to tell. */
export type Change = Readonly<{ field: string; before?: unknown; after?: unknown }>;

export type AuditLine = Readonly<{
  position: bigint;
  occurredAt: Date;
  actor: Actor;
  /** Null for work of the system and once the person was forgotten. */
  ip: string | null;
  type: string;
  stream: string;
  projectId: string | null;
  changes: readonly Change[];
}>;

export type AuditDeps = Readonly<{
  db: Knex;
  store: EventStore;
  open: (sealed: Sealed) => Promise<string | null>;
}>;

const pageEntriesMax = 500;

/** What is shown for what only its owner may read. */
export const sealedMark = "«sealed»";

/** Who did what, when, from where, and what it changed; oldest first, a page in memory at a time. */
export async function* auditTrail(
  { db, store, open }: AuditDeps,
  filter: AuditFilter,
): AsyncGenerator<AuditLine> {
  const reader = new StreamReader(store);
  try {
    for (let after = -1n; ; ) {
      const page = await listAuditEntries(db, filter, after, pageEntriesMax);
      for (const row of page) {
        const { event, before } = await reader.read(row.stream, row.revision);
        yield await toLine(row, event, before, open);
      }
      if (page.length < pageEntriesMax) return;
      after = page.at(-1)?.position ?? after;
    }
  } finally {
    await reader.close();
  }
}

async function toLine(
  row: AuditEntryRow,
  { type, data, metadata }: Recorded,
  before: Data,
  open: AuditDeps["open"],
): Promise<AuditLine> {
  return {
    position: row.position,
    occurredAt: row.occurred_at,
    actor: metadata.actor,
    ip: row.ip === null ? null : await open(row.ip),
    type,
    stream: row.stream,
    projectId: row.project_id,
    changes: changesOf(type, data, before),
  };
}

type Data = Readonly<Record<string, unknown>>;

/** Told by the entry itself already. */
const told = /^(?:\w+ById|\w+At)$/;

/**
 * What an event changed. It may say the old value itself, as `before` or `previousTitle`; of an
 * event that changes a thing of its own stream the old value is in the events before it.
 */
export function changesOf(type: string, data: Data, before: Data): readonly Change[] {
  const changes: Change[] = [];
  const compares = /(?:Changed|Updated)$/.test(type);
  for (const [field, value] of Object.entries(data)) {
    if (told.test(field) || field === "before" || /^previous[A-Z]/.test(field)) continue;
    const after = shown(value);
    if (field === "after" || (field === "objectId" && "before" in data)) {
      changes.push({ field: "changed", before: shown(data["before"]), after });
      continue;
    }
    const previous = `previous${field.charAt(0).toUpperCase()}${field.slice(1)}`;
    if (previous in data) changes.push({ field, before: shown(data[previous]), after });
    else if (!compares || "before" in data || !(field in before)) changes.push({ field, after });
    else if (!same(before[field], value)) {
      changes.push({ field, before: shown(before[field]), after });
    }
  }
  return changes;
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function shown(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shown);
  if (value !== null && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, shown(part)]));
  }
  return Sealed.safeParse(value).success ? sealedMark : value;
}
