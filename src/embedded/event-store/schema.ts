import type { ClientBase } from "pg";

/** Each entry is applied once, in order, and never edited after it was released. */
const migrations: readonly string[] = [
  // bytea keeps JSON byte for byte; collation "C" makes stream names compare by bytes on every host.
  `create table event_store.event (
     pos bigint primary key,
     stream text collate "C" not null,
     rev bigint not null,
     id uuid not null,
     type text not null,
     is_json boolean not null,
     data bytea not null,
     meta bytea not null,
     created bigint not null,
     unique (stream, rev)
   )`,
];

/** Brings the schema up to date. The caller holds the writer lock, so no other process does the same. */
export async function migrate(client: ClientBase): Promise<void> {
  await client.query("create schema if not exists event_store");
  await client.query("create table if not exists event_store.migration (version int primary key)");
  const { rows } = await client.query<{ version: number }>(
    "select coalesce(max(version), 0) as version from event_store.migration",
  );
  const applied = rows[0]?.version ?? 0;
  if (applied > migrations.length) {
    throw new Error(`The event store was written by a newer release (schema ${applied})`);
  }
  for (const [index, migration] of migrations.entries()) {
    const version = index + 1;
    if (version <= applied) continue;
    await client.query("begin");
    await client.query(migration);
    await client.query("insert into event_store.migration values ($1)", [version]);
    await client.query("commit");
  }
}
