import {
  beforeEverything,
  type CheckpointState,
  type StoredCheckpoint,
  unbuiltVersion,
} from "./checkpoint.ts";
import type { Projection, Tx } from "./projection.ts";
import { createLateIndexes, createTables } from "./table.ts";

/** The schema that queries read from. */
export const liveSchema = "read_model";

/** Makes the tables of a projection that has none yet, and its checkpoint before every event. */
export async function install(
  tx: Tx,
  { name, version, tables }: Projection,
  state: CheckpointState,
): Promise<void> {
  const names = tables.map((table) => table.name);
  // Tables without a checkpoint say nothing of what is in them.
  await dropTables(tx, liveSchema, names);
  await inSchema(tx, liveSchema, async () => {
    await createTables(tx, tables);
    await createLateIndexes(tx, tables);
  });
  const row = { name, version, tables: names, position: beforeEverything, state };
  await tx<StoredCheckpoint>("projection_checkpoint").insert(row);
}

/**
 * Installs those that have no checkpoint, as behind the others. One that is new beside others has no tables before they
 * are built: of empty ones, nothing would say that rows are missing.
 */
export async function installMissing(tx: Tx, projections: readonly Projection[]): Promise<void> {
  const installed = new Set(await tx<StoredCheckpoint>("projection_checkpoint").pluck("name"));
  for (const projection of projections) {
    const { name } = projection;
    if (installed.size === 0) await install(tx, projection, "behind");
    else if (!installed.has(name)) await noteUnbuilt(tx, name);
  }
}

const noteUnbuilt = (tx: Tx, name: string) =>
  tx<StoredCheckpoint>("projection_checkpoint").insert({
    ...{ name, version: unbuiltVersion, tables: [] },
    ...{ position: beforeEverything, state: "behind" },
  });

/** In one statement, because they may refer to each other. */
export async function dropTables(tx: Tx, schema: string, tables: readonly string[]): Promise<void> {
  if (tables.length === 0) return;
  const names = tables.map((table) => `${schema}.${table}`);
  await tx.raw(`drop table if exists ${names.map(() => "??").join(", ")}`, names);
}

/** Runs what names tables without a schema so that these mean those of one schema. */
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
