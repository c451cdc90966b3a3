import type { Knex } from "knex";

/** Whether the request under a key has appended events: its outcome stands, although no answer is kept. */
export async function up(db: Knex): Promise<void> {
  await db.raw(
    "alter table public.idempotent_answer add column appended boolean not null default false",
  );
}

export async function down(db: Knex): Promise<void> {
  await db.raw("alter table public.idempotent_answer drop column appended");
}
