import type { Knex } from "knex";
import { beforeEverything, type CheckpointState } from "./checkpoint.ts";
import type { Projection, Tx } from "./projection.ts";

/** The schema that queries read from. */
export const liveSchema = "read_model";

/** Makes the tables of a projection that has none yet, and its checkpoint before every event. */
export async function install(
  tx: Tx,
  projection: Projection,
  state: CheckpointState,
): Promise<void> {
  const { name, version, tables } = projection;
  await createTables(tx, liveSchema, projection);
  await tx("projection_checkpoint").insert({
    name,
    version,
    tables,
    position: beforeEverything,
    state,
  });
}

/** Makes the tables of a projection in a schema, and gives the search path back as it was. */
export async function createTables(tx: Tx, schema: string, projection: Projection): Promise<void> {
  await inSchema(tx, schema, () => projection.create(tx));
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
export async function uninstall(db: Knex, projection: Projection): Promise<void> {
  await db.transaction(async (tx) => {
    for (const table of projection.tables) {
      await tx.schema.withSchema(liveSchema).dropTableIfExists(table);
    }
    await tx("projection_checkpoint").where({ name: projection.name }).delete();
  });
}
