import type { Knex } from "knex";
import type { Logger } from "pino";

import { type RecordUse, useRecorder, usesOf as usesNoted } from "../../platform/last-used.ts";

const tokenUses = { table: "token_use", column: "token_id" } as const;

export const tokenUse = (db: Knex, log: Logger, now: () => Date): RecordUse =>
  useRecorder(tokenUses, { db, log, now });

/** When each of these tokens was last seen; those never seen are left out. */
export const usesOf = (db: Knex, tokenIds: readonly string[]): Promise<ReadonlyMap<string, Date>> =>
  usesNoted(db, tokenUses, tokenIds);
