import type { Knex } from "knex";

export type AuditDay = Readonly<{
  /** `YYYY-MM-DD`. */
  day: string;
  /** Positions from its first to its last event: their number on a store that counts without holes. */
  positions: number;
}>;

/** The last days on which something happened, oldest first. */
export async function lastAuditDays(db: Knex, daysMax: number): Promise<readonly AuditDay[]> {
  const rows: readonly { day: string; first: string; last: string }[] = await db("audit_day")
    .orderBy("day", "desc")
    .limit(daysMax)
    .select(
      db.raw("to_char(day, 'YYYY-MM-DD') as day"),
      db.raw("first_position::text as first"),
      db.raw("last_position::text as last"),
    );
  return rows
    .map(({ day, first, last }) => ({ day, positions: Number(BigInt(last) - BigInt(first)) + 1 }))
    .reverse();
}
