import { z } from "zod";

import { agentNotFound } from "../../../commands/agent/agent.ts";
import { agentIdsOfNumber } from "../../../events/agent/agent.ts";
import { type AgentRow, findAgentsBetween } from "../../../projections/agent/agent.ts";
import { findProjectById } from "../../../projections/project/project.ts";
import { findCompanyById } from "../../../projections/team/company.ts";
import { companyRole, projectRole } from "../../../projections/team/member-role.ts";
import { atLeast } from "../../access/access.ts";
import { requireScope } from "../../access/gate.ts";
import { agentOwnerScopes } from "../../api/agent/owner-scope.ts";
import type { Deps } from "../../core/deps.ts";
import type { RequestFor } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { safeNumber } from "./job-authentication.ts";
import { issueToken, RegisteredView } from "./protocol.ts";

const resetTokenOf = route({
  tag: "Agent protocol",
  method: "post",
  path: "/api/v4/runners/{agentNumber}/reset_authentication_token",
  operationId: "resetTokenOfAgent",
  summary: "Issue another token for an agent, as one who administers it",
  description:
    "`Private-Token` may hold the access token; its scope is that of changing the agent. The former token stays valid until the new one is used.",
  access: "user",
  scope: "none",
  secret: true,
  status: 201,
  params: z.object({ agentNumber: safeNumber("3118209871443207") }),
  reply: RegisteredView,
  async handle({ params, request }, deps) {
    const { id } = await administeredAgent(deps, request, params.agentNumber);
    return await issueToken(request, deps, id);
  },
});

/** @throws Refusal 404, also for an agent that the caller does not administer; 403 without the scope */
async function administeredAgent(
  { db }: Pick<Deps, "db">,
  request: RequestFor<"user">,
  number: number,
): Promise<AgentRow> {
  const rows = await findAgentsBetween(db, agentIdsOfNumber(number));
  const mine: AgentRow[] = [];
  for (const row of rows) if (await administers(db, request, row)) mine.push(row);
  const [row, ...others] = mine;
  // Two agents of one number are hardly ever met; none of them is guessed.
  if (row === undefined || others.length > 0) throw agentNotFound();
  const ownerScope = agentOwnerScopes.find(
    ({ noun }) => noun === (request.isAdmin ? "Instance" : nouns[row.owner_type]),
  );
  if (ownerScope !== undefined) requireScope(request, ownerScope.write);
  return row;
}

const nouns = { PROJECT: "Project", COMPANY: "Company", GLOBAL: "Instance" } as const;

/** Administrators of the instance administer all agents; see agentOwnerScopes. */
async function administers(
  db: Deps["db"],
  { isAdmin, userId }: RequestFor<"user">,
  { owner_type, owner_id }: AgentRow,
): Promise<boolean> {
  if (isAdmin) return true;
  if (owner_type === "GLOBAL" || owner_id === null) return false;
  if (owner_type === "PROJECT") {
    const project = await findProjectById(db, owner_id);
    return project !== undefined && atLeast(await projectRole(db, project, userId), "ADMIN");
  }
  const company = await findCompanyById(db, owner_id);
  return company !== undefined && atLeast(await companyRole(db, company, userId), "ADMIN");
}

export const agentTokenResetRoutes: readonly Route[] = [resetTokenOf];
