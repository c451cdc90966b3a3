import type { Knex } from "knex";

import { lockFeed, readCheckpoints, unbuiltVersion } from "./core/checkpoint.ts";
import { dropTables, liveSchema } from "./core/install.ts";
import type { Projection, Tx } from "./core/projection.ts";
import { type AnyTable, columnDefinition } from "./core/table.ts";

/**
 * Drops tables of earlier versions whose columns are not those of this release, before anything of it reads them: code
 * would take a value that is not there for one that is. Until they are built again, requests that need them are answered
 * 503. A table that lacks nothing but columns with a default gets these instead, and is read on.
 */
export async function dropUnfitTables(db: Knex, projections: readonly Projection[]): Promise<void> {
  await db.transaction(async (tx) => {
    await lockFeed(tx);
    const rows = new Map((await readCheckpoints(tx)).map((row) => [row.name, row]));
    for (const { name, version, tables } of projections) {
      const row = rows.get(name);
      if (row === undefined || row.version >= version) continue;
      const unfit: string[] = [];
      for (const table of tables) if (!(await isReadable(tx, table))) unfit.push(table.name);
      if (unfit.length === 0) continue;
      await dropTables(tx, liveSchema, unfit);
      const left = row.tables.filter((each) => !unfit.includes(each));
      // Of no release: an earlier one that is started again does not take what is left for its own.
      await tx("projection_checkpoint")
        .where({ name })
        .update({ version: unbuiltVersion, tables: left });
    }
  });
}

type Misfit = Readonly<{ column: string; isMissing: boolean }>;

async function isReadable(tx: Tx, { name, columns }: AnyTable): Promise<boolean> {
  const misfits = await misfitsOf(tx, { name, columns });
  const isAddable = ({ column, isMissing }: Misfit) =>
    isMissing && columns[column]?.includes(" default ");
  if (!misfits.every(isAddable)) return false;
  for (const { column } of misfits) {
    const definition = columnDefinition(column, columns[column] ?? "");
    await tx.raw(`alter table ??.?? add column ${definition}`, [liveSchema, name]);
  }
  return true;
}

/** Columns that the stored table lacks, or has of another type, or with nulls that the declared one does not take. */
async function misfitsOf(
  tx: Tx,
  { name, columns }: Pick<AnyTable, "name" | "columns">,
): Promise<readonly Misfit[]> {
  const declared = Object.entries(columns).map(([column, declaration]) => ({
    column,
    type: declaration.replace(/ (?:null|collate|default)\b.*/, ""),
    nullable: declaration.endsWith(" null"),
  }));
  const { rows } = await tx.raw<{ rows: Misfit[] }>(
    `select declared.column, stored.attname is null as "isMissing"
     from json_to_recordset(?::json) as declared("column" text, type text, nullable boolean)
       left join pg_attribute as stored
         on stored.attrelid = to_regclass(?) and stored.attname = declared.column
           and not stored.attisdropped
     where stored.attname is null or stored.atttypid <> to_regtype(declared.type)
       or not stored.attnotnull and not declared.nullable`,
    [JSON.stringify(declared), `${liveSchema}.${name}`],
  );
  return rows;
}
