import type { Knex } from "knex";
import { z } from "zod";

import type { AgentRow } from "../../../projections/agent/agent.ts";
import { type AgentContactRow, lastContacts } from "../../../projections/agent/contact.ts";
import { instant } from "../../core/schema.ts";
import { toView } from "../../core/view.ts";

export const AgentView = z
  .object({
    id: z.uuid(),
    name: z.string().meta({ examples: ["builder"] }),
    description: z.string(),
    platform: z.string().meta({ examples: ["linux"] }),
    architecture: z.string().meta({ examples: ["amd64"] }),
    ipAddress: z.string(),
    connectedAt: instant().nullable().meta({ description: "Time of the last contact." }),
    active: z.boolean(),
    tags: z.array(z.string()),
    ownerType: z.enum(["PROJECT", "COMPANY", "GLOBAL"]),
    ownerId: z.uuid().nullable().meta({ description: "Null for GLOBAL." }),
    runUntagged: z.boolean(),
    locked: z.boolean(),
    maxTimeoutInSec: z.int().nullable(),
    protected: z.boolean().meta({ description: "It serves protected branches and tags only." }),
  })
  .meta({ id: "Agent" });

/** The agents with their last contacts, in one query. */
export async function agentViews(
  db: Knex,
  rows: readonly AgentRow[],
): Promise<z.input<typeof AgentView>[]> {
  const contacts = await lastContacts(
    db,
    rows.map(({ id }) => id),
  );
  return rows.map((row) => agentView(row, contacts.get(row.id)));
}

function agentView(row: AgentRow, contact: AgentContactRow | undefined): z.input<typeof AgentView> {
  return toView(AgentView, row, {
    platform: contact?.platform ?? "",
    architecture: contact?.architecture ?? "",
    ipAddress: contact?.ip ?? "",
    connectedAt: contact?.connected_at ?? null,
    tags: [...row.tags],
    maxTimeoutInSec: row.max_timeout_seconds,
  });
}
