import type { ParentType } from "../../events/core/role.ts";
import type { Scope } from "../../events/token/access-token.ts";
import type { RoutePath } from "../core/route.ts";
import type { Resource, Role } from "./access.ts";
import type { Resolved } from "./gate.ts";

/**
 * Projects, teams and companies have members and rules in the same way: one declaration is mounted
 * at each of them. This says what differs.
 */
export type OwnerScope = Readonly<{
  resource: Resource;
  /** In an operationId: `list{Project}Members`. */
  noun: "Project" | "Team" | "Company";
  base: RoutePath;
  read: Scope;
  write: Scope;
  tag: string;
}>;

export const projectScope: OwnerScope = {
  resource: "project",
  noun: "Project",
  base: "/project/{ownerAlias}/{projectAlias}",
  read: "PROJECT_READ",
  write: "PROJECT_EDIT",
  tag: "Projects",
};

export const teamScope: OwnerScope = {
  resource: "team",
  noun: "Team",
  base: "/team/{teamAlias}",
  read: "TEAM_READ",
  write: "TEAM_WRITE",
  tag: "Teams",
};

export const companyScope: OwnerScope = {
  resource: "company",
  noun: "Company",
  base: "/company/{companyAlias}",
  read: "COMPANY_READ",
  write: "COMPANY_WRITE",
  tag: "Companies",
};

export const ownerScopes = [projectScope, teamScope, companyScope] as const;

/** The declared access of an operation in an owner scope. */
export const accessAt = <R extends Role>({ resource }: OwnerScope, role: R) =>
  `${resource}:${role}` as const;

/** What operations that read in an owner scope declare. */
export const readingAt = <R extends Role>(ownerScope: OwnerScope, role: R) =>
  ({ ...declaredAt(ownerScope, role), scope: ownerScope.read }) as const;

/** The same for those that change something. */
export const writingAt = <R extends Role>(ownerScope: OwnerScope, role: R) =>
  ({ ...declaredAt(ownerScope, role), scope: ownerScope.write }) as const;

const declaredAt = <R extends Role>(ownerScope: OwnerScope, role: R) =>
  ({ tag: ownerScope.tag, access: accessAt(ownerScope, role) }) as const;

export type Parent = Readonly<{ id: string; type: ParentType; ownerUserId: string }>;

/** What the access of a route in an owner scope has resolved. */
export function parentOf(request: Resolved): Parent {
  if ("project" in request) {
    const { id, owner_user_id } = request.project;
    return { id, type: "PROJECT", ownerUserId: owner_user_id };
  }
  if ("team" in request) {
    const { id, owner_user_id } = request.team;
    return { id, type: "TEAM", ownerUserId: owner_user_id };
  }
  const { id, owner_id } = request.company;
  return { id, type: "COMPANY", ownerUserId: owner_id };
}
