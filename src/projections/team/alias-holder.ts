import type { Knex } from "knex";
import type { Slice } from "../list/list-rows.ts";

import { countPublic } from "../list/public-rows.ts";
import { counted } from "../list/total.ts";

/**
 * Which teams or companies: the public ones, those that belong to a user in the end, or those that the
 * user has a role in without owning them.
 */
export type Belonging = Readonly<{ which: "public" }> | BelongingToUser;
export type BelongingToUser = Readonly<{ which: "mine" | "shared"; userId: string }>;

export type ListHolders<Row> = (
  db: Knex,
  belonging: Belonging,
  page: Readonly<{ limit: number; offset: number }>,
) => Promise<Slice<Row>>;

type Holders = Readonly<{
  table: "team" | "company";
  /** The rows that are not deleted, as queries give them. */
  query: (db: Knex) => Knex.QueryBuilder;
  /** Adds the conditions for what belongs to a user. */
  narrow: (db: Knex, query: Knex.QueryBuilder, belonging: BelongingToUser) => void;
}>;

/** Makes the query for a page of teams or companies, the oldest first. */
export function listOf<Row>({ table, query, narrow }: Holders): ListHolders<Row> {
  return async (db, belonging, { limit, offset }) => {
    const narrowed = (all: Knex.QueryBuilder): void => {
      if (belonging.which === "public") all.where(`${table}.is_private`, false);
      else narrow(db, all, belonging);
    };
    const order = [`${table}.created_at`, `${table}.id`];
    const matching = () => db(table).whereNull(`${table}.deleted_at`).modify(narrowed);
    const [rows, total] = await Promise.all([
      query(db).modify(narrowed).orderBy(order).limit(limit).offset(offset),
      belonging.which === "public" ? countPublic(db, table) : counted(matching()),
    ]);
    return { rows, total };
  };
}
