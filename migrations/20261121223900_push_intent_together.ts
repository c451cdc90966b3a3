import type { Knex } from "knex";

/**
 * Pushes whose new refs are synced all at once after git made them: until they ended, a power cut may have
 * left empty files in place of refs; see docs/adr/0040-many-new-refs.md.
 */
export async function up(db: Knex): Promise<void> {
  await db.raw("alter table public.push_intent add column together boolean not null default false");
}

export async function down(db: Knex): Promise<void> {
  await db.raw("alter table public.push_intent drop column together");
}
