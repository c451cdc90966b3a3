import type { Knex } from "knex";
import {
  beforeEverything,
  type CheckpointState,
  feeds,
  lockFeed,
  type StoredCheckpoint,
} from "./checkpoint.ts";
import { feedOf, type Projection, type Tx } from "./projection.ts";

/** The schema that queries read from. */
export const liveSchema = "read_model";

/** Makes the tables of a projection that has none yet, and its checkpoint before every event. */
export async function install(
  tx: Tx,
  projection: Projection,
  state: CheckpointState,
): Promise<void> {
  // Tables without a checkpoint say nothing of what is in them.
  await dropTables(tx, liveSchema, projection.tables);
  await createTables(tx, liveSchema, projection);
  await createIndexes(tx, liveSchema, projection);
  await tx<StoredCheckpoint>("projection_checkpoint").insert(firstCheckpoint(projection, state));
}

export function firstCheckpoint(projection: Projection, state: CheckpointState) {
  const { name, version, tables } = projection;
  const feed = feedOf(projection);
  return { name, version, tables: [...tables], position: beforeEverything, state, feed };
}

/** In one statement, because they may refer to each other. */
export async function dropTables(tx: Tx, schema: string, tables: readonly string[]): Promise<void> {
  if (tables.length === 0) return;
  const names = tables.map((table) => `${schema}.${table}`);
  await tx.raw(`drop table if exists ${names.map(() => "??").join(", ")}`, names);
}

/** Makes the tables of a projection in a schema, and gives the search path back as it was. Without `index`. */
export async function createTables(tx: Tx, schema: string, projection: Projection): Promise<void> {
  await inSchema(tx, schema, () => projection.create(tx));
}

/** Those that the handlers do without. */
export async function createIndexes(
  tx: Tx,
  schema: string,
  { index, indexes = [] }: Pick<Projection, "index" | "indexes">,
): Promise<void> {
  const all = index === undefined ? indexes : [index, ...indexes];
  if (all.length === 0) return;
  await inSchema(tx, schema, async () => {
    for (const each of all) await each(tx);
  });
}

/** Runs handlers so that the unqualified names of their tables mean those of one schema. */
export async function inSchema<Result>(
  tx: Tx,
  schema: string,
  run: () => Promise<Result>,
): Promise<Result> {
  const before = await setSearchPath(tx, `"${schema}", public`);
  const result = await run();
  await setSearchPath(tx, before);
  return result;
}

/** For the rest of the transaction; gives the path that was. */
async function setSearchPath(tx: Tx, path: string): Promise<string> {
  const { rows } = await tx.raw<{ rows: { before: string }[] }>(
    "select current_setting('search_path') as before, set_config('search_path', ?, true)",
    [path],
  );
  return rows[0]?.before ?? path;
}

/** Drops what a projection owns: its tables and its checkpoint. */
export async function uninstall(db: Knex, { name, tables }: Projection): Promise<void> {
  await db.transaction(async (tx) => {
    // Before the checkpoint, as all that change checkpoints do: a trigger notes in the feed who follows it.
    for (const feed of feeds) await lockFeed(tx, feed);
    await tx("projection_checkpoint").where({ name }).delete();
    await dropTables(tx, liveSchema, tables);
  });
}
