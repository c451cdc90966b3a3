import type { Knex } from "knex";

/**
 * What git said about signatures, so that it is not asked again: by the id of what was signed and by
 * the keys it was held against, neither of which can change. May be emptied at any time; see
 * src/platform/signature-memory.ts.
 */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    create table public.signature_check (
      object_id text not null,
      keys text not null,
      kind text not null,
      key_id text not null,
      checked_at timestamptz not null,
      holds_until timestamptz not null,
      primary key (object_id, keys)
    )
  `);
  await db.raw("create index on public.signature_check (holds_until)");
}

export async function down(db: Knex): Promise<void> {
  await db.raw("drop table public.signature_check");
}
