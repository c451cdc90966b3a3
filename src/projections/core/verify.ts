import type { Knex } from "knex";

export type Comparison = Readonly<{
  table: string;
  rowsBefore: bigint;
  rowsAfter: bigint;
  equal: boolean;
}>;

type Digest = Readonly<{ rows: bigint; digest: string }>;

/** Compares the rows of two tables of the same columns, whatever their order. */
export async function compareTables(
  tx: Knex,
  table: string,
  [before, after]: readonly [string, string],
): Promise<Comparison> {
  const old = await digestOf(tx, before, table);
  const built = await digestOf(tx, after, table);
  return {
    table,
    rowsBefore: old.rows,
    rowsAfter: built.rows,
    equal: old.rows === built.rows && old.digest === built.digest,
  };
}

/** The sum of 128 bits a row: equal rows in any order give the same, one changed row another. */
async function digestOf(tx: Knex, schema: string, table: string): Promise<Digest> {
  const { rows } = await tx.raw<{ rows: Digest[] }>(
    `select count(*) as rows,
       concat(sum(hashtextextended(to_jsonb(t)::text, 0)::numeric), ':',
         sum(hashtextextended(to_jsonb(t)::text, 1)::numeric)) as digest
     from ??.?? t`,
    [schema, table],
  );
  return rows[0] ?? { rows: 0n, digest: "" };
}
