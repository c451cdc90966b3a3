import { z } from "zod";

import type { AgentOwner } from "../../events/agent/agent.ts";
import type { UserId } from "../../events/core/ids.ts";
import type { WhoseAgents } from "../../projections/agent/agent.ts";
import { companyScope, projectScope } from "../access/owner-scope.ts";
import type { RoutePath } from "../core/route.ts";

/** Agents belong to a project, a company or the instance: one declaration is mounted at each of them. */
export type AgentOwnerScope = Readonly<{
  /** In an operationId: `list{Project}Agents`. */
  noun: "Project" | "Company" | "Instance";
  base: RoutePath;
  params: z.ZodType<Readonly<Record<string, string>>>;
  reading: Readonly<{ scope: "PROJECT_READ" | "COMPANY_READ" | "USER_WRITE" }>;
  writing: Readonly<{ scope: "PROJECT_EDIT" | "COMPANY_WRITE" | "USER_WRITE" }>;
  access: "project:ADMIN" | "company:ADMIN" | "admin";
}>;

export const agentOwnerScopes: readonly AgentOwnerScope[] = [
  {
    noun: "Project",
    base: `${projectScope.base}/runners`,
    params: projectScope.params,
    reading: { scope: "PROJECT_READ" },
    writing: { scope: "PROJECT_EDIT" },
    access: "project:ADMIN",
  },
  {
    noun: "Company",
    base: `${companyScope.base}/runners`,
    params: companyScope.params,
    reading: { scope: "COMPANY_READ" },
    writing: { scope: "COMPANY_WRITE" },
    access: "company:ADMIN",
  },
  {
    noun: "Instance",
    base: "/admin/runners",
    params: z.object({}),
    reading: { scope: "USER_WRITE" },
    writing: { scope: "USER_WRITE" },
    access: "admin",
  },
];

/** What the access of a route in an owner scope has resolved; nothing at the instance. */
export type InOwnerScope = Readonly<{
  userId: UserId;
  project?: Readonly<{ id: string }>;
  company?: Readonly<{ id: string }>;
}>;

/** Who agents registered here belong to. */
export function ownerAt({ project, company }: InOwnerScope): AgentOwner {
  if (project !== undefined) return { type: "PROJECT", id: project.id };
  if (company !== undefined) return { type: "COMPANY", id: company.id };
  return { type: "GLOBAL", id: null };
}

/** Whose agents are seen here: administrators see those of all owners. */
export function seenAt(at: InOwnerScope): WhoseAgents {
  const owner = ownerAt(at);
  return owner.type === "GLOBAL" ? undefined : owner;
}
