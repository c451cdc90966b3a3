import type { Knex } from "knex";

/** What a process of an agent says of itself with each request; see the migration of agent_contact. */
export type AgentContactRow = Readonly<{
  agent_id: string;
  /** One token may be used on many machines, which differ by this. */
  system_id: string;
  ip: string;
  platform: string;
  architecture: string;
  version: string;
  executor: string;
  /** Names of what it can do, for example `upload_multiple_artifacts`. */
  features: readonly string[];
  connected_at: Date;
}>;

export async function noteContact(db: Knex, row: AgentContactRow): Promise<void> {
  await db("public.agent_contact")
    .insert({ ...row, features: JSON.stringify(row.features) })
    .onConflict(["agent_id", "system_id"])
    .merge();
}

/** An agent at work says nothing of itself: only the time and the address are new. */
export async function noteActivity(
  db: Knex,
  { agentId, ip, at }: Readonly<{ agentId: string; ip: string; at: Date }>,
): Promise<void> {
  await db("public.agent_contact").where({ agent_id: agentId }).update({ ip, connected_at: at });
}

/** The last contact of each agent that had one. */
export async function lastContacts(
  db: Knex,
  agentIds: readonly string[],
): Promise<ReadonlyMap<string, AgentContactRow>> {
  const rows: readonly AgentContactRow[] = await db("public.agent_contact")
    .distinctOn("agent_id")
    .whereIn("agent_id", [...agentIds])
    .orderBy([
      { column: "agent_id" },
      { column: "connected_at", order: "desc" },
      // That of the registration names no machine.
      { column: "system_id", order: "desc" },
    ])
    .select("*");
  return new Map(rows.map((row) => [row.agent_id, row]));
}

/** @param systemId undefined: all processes of the agent */
export async function forgetContact(
  db: Knex,
  agentId: string,
  systemId?: string,
): Promise<boolean> {
  const query = db("public.agent_contact").where({ agent_id: agentId });
  if (systemId !== undefined) query.andWhere({ system_id: systemId });
  return (await query.delete()) > 0;
}
