import type { AgentOwner } from "../../../events/agent/agent.ts";
import type { UserId } from "../../../events/core/ids.ts";
import type { WhoseAgents } from "../../../projections/agent/agent.ts";
import { companyScope, projectScope } from "../../access/owner-scope.ts";
import type { RoutePath } from "../../core/route.ts";

/** Agents belong to a project, a company or the instance: one declaration is mounted at each of them. */
export type AgentOwnerScope = Readonly<{
  /** In an operationId: `list{Project}Agents`. */
  noun: "Project" | "Company" | "Instance";
  base: RoutePath;
  read: "PROJECT_READ" | "COMPANY_READ" | "USER_WRITE";
  write: "PROJECT_EDIT" | "COMPANY_WRITE" | "USER_WRITE";
  access: "project:ADMIN" | "company:ADMIN" | "admin";
}>;

/** What operations on agents declare that read; those that change something, or show a secret, as below. */
export const reading = ({ read, access }: AgentOwnerScope) =>
  ({ tag: "Agents", scope: read, access }) as const;

export const writing = ({ write, access }: AgentOwnerScope) =>
  ({ tag: "Agents", scope: write, access }) as const;

export const agentOwnerScopes: readonly AgentOwnerScope[] = [
  {
    noun: "Project",
    base: `${projectScope.base}/runners`,
    read: "PROJECT_READ",
    write: "PROJECT_EDIT",
    access: "project:ADMIN",
  },
  {
    noun: "Company",
    base: `${companyScope.base}/runners`,
    read: "COMPANY_READ",
    write: "COMPANY_WRITE",
    access: "company:ADMIN",
  },
  {
    noun: "Instance",
    base: "/admin/runners",
    read: "USER_WRITE",
    write: "USER_WRITE",
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
