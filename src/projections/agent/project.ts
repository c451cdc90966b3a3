import type { Knex } from "knex";

import type { AgentRow } from "./agent.ts";

/** Projects whose jobs an agent may run; undefined: all. */
export async function projectIdsOf(
  db: Knex,
  { owner_type, owner_id }: Pick<AgentRow, "owner_type" | "owner_id">,
): Promise<readonly string[] | undefined> {
  if (owner_type === "GLOBAL" || owner_id === null) return undefined;
  if (owner_type === "PROJECT") return [owner_id];
  const teams = db("team").where({ owner_id }).whereNull("deleted_at").select("id");
  return db("project")
    .where((query) => query.where({ owner_id }).orWhereIn("owner_id", teams))
    .whereNull("deleted_at")
    .pluck("id");
}
