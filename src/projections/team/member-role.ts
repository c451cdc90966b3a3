import type { Knex } from "knex";

import { Role } from "../../events/core/role.ts";
import type { ProjectRow } from "../project/project.ts";
import type { CompanyRow } from "./company.ts";
import { highestRole, highestRoles } from "./member.ts";
import type { TeamRow } from "./team.ts";

/** What decides about roles: where membership counts, who owns it in the end, who may see it. */
type RoleScope = Readonly<{
  parentIds: readonly (string | null)[];
  ownerUserId: string;
  isPrivate: boolean;
}>;

/**
 * The one place where roles are computed. The owner's is ADMIN; a member's is the highest that the
 * thing itself, the team and the company above it give; everybody is a GUEST of what is public.
 * Undefined: no right at all.
 */
async function roleIn(
  db: Knex,
  scope: RoleScope,
  userId: string | null,
): Promise<Role | undefined> {
  const { ownerUserId, isPrivate } = scope;
  const everybody = isPrivate ? undefined : Role.enum.GUEST;
  if (userId === null) return everybody;
  if (userId === ownerUserId) return "ADMIN";
  return (await highestRole(db, userId, parentsOf(scope))) ?? everybody;
}

/** The same for several users; who has no right at all is left out. */
async function rolesIn(
  db: Knex,
  scope: RoleScope,
  userIds: readonly string[],
): Promise<ReadonlyMap<string, Role>> {
  const given = await highestRoles(db, userIds, parentsOf(scope));
  const roles = new Map<string, Role>();
  for (const id of userIds) {
    const role = id === scope.ownerUserId ? "ADMIN" : given.get(id);
    if (role !== undefined || !scope.isPrivate) roles.set(id, role ?? "GUEST");
  }
  return roles;
}

const parentsOf = ({ parentIds }: RoleScope): readonly string[] =>
  parentIds.filter((id) => id !== null);

export type ProjectScope = Pick<
  ProjectRow,
  "id" | "owner_id" | "owner_user_id" | "owner_company_id" | "is_private"
>;

/** The highest of the project's own role, its owner team's and its owner company's. */
export const projectRole = (db: Knex, project: ProjectScope, userId: string | null) =>
  roleIn(db, scopeOf(project), userId);

export const projectRoles = (db: Knex, project: ProjectScope, userIds: readonly string[]) =>
  rolesIn(db, scopeOf(project), userIds);

const scopeOf = (project: ProjectScope): RoleScope => ({
  parentIds: [project.id, project.owner_id, project.owner_company_id],
  ownerUserId: project.owner_user_id,
  isPrivate: project.is_private,
});

/** Whether a role was given: not the one that everybody has in what is public. */
export const isMember = async (db: Knex, project: ProjectScope, userId: string): Promise<boolean> =>
  (await projectRole(db, { ...project, is_private: true }, userId)) !== undefined;

export type TeamScope = Pick<TeamRow, "id" | "owner_user_id" | "owner_company_id" | "is_private">;

export const teamRole = (db: Knex, team: TeamScope, userId: string | null) =>
  roleIn(
    db,
    {
      parentIds: [team.id, team.owner_company_id],
      ownerUserId: team.owner_user_id,
      isPrivate: team.is_private,
    },
    userId,
  );

export type CompanyScope = Pick<CompanyRow, "id" | "owner_id" | "is_private">;

export const companyRole = (db: Knex, company: CompanyScope, userId: string | null) =>
  roleIn(
    db,
    { parentIds: [company.id], ownerUserId: company.owner_id, isPrivate: company.is_private },
    userId,
  );
