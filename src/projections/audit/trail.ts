import type { Knex } from "knex";
import type { Actor, Recorded } from "../../events/core/event.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import { StreamReader } from "../core/stream-reader.ts";
import { type Change, changesOf, type Data } from "./change.ts";
import { type AuditEntryRow, type AuditFilter, listAuditEntries } from "./entry.ts";

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
