import type { Knex } from "knex";

import type { ParentType, Role } from "../../events/core/role.ts";
import { findProjectById } from "../project/project.ts";
import { findUserById } from "../user/user.ts";
import { findCompanyById } from "./company.ts";
import { companyRole, projectRole, teamRole } from "./member-role.ts";
import { findTeamById } from "./team.ts";

export type Parent = Readonly<{ parentType: ParentType; parentId: string }>;

/**
 * Whether the user is an ADMIN of a project, team or company now: the account is neither blocked nor
 * forgotten, the thing is not deleted, and the role still holds.
 */
export async function administers(db: Knex, userId: string, parent: Parent): Promise<boolean> {
  const user = await findUserById(db, userId);
  if (user === undefined || user.banned_at !== null || user.forgotten_at !== null) return false;
  return (await roleAt(db, userId, parent)) === "ADMIN";
}

async function roleAt(
  db: Knex,
  userId: string,
  { parentType, parentId }: Parent,
): Promise<Role | undefined> {
  switch (parentType) {
    case "PROJECT": {
      const project = await findProjectById(db, parentId);
      return project && (await projectRole(db, project, userId));
    }
    case "TEAM": {
      const team = await findTeamById(db, parentId);
      return team && (await teamRole(db, team, userId));
    }
    case "COMPANY": {
      const company = await findCompanyById(db, parentId);
      return company && (await companyRole(db, company, userId));
    }
  }
}

/** Whether the inviter is still an ADMIN of what an invitation is to: otherwise it has lapsed. */
export function invitationStands(
  db: Knex,
  invitation: Readonly<{ parent_id: string; parent_type: ParentType; invited_by_id: string }>,
): Promise<boolean> {
  const parent = { parentType: invitation.parent_type, parentId: invitation.parent_id };
  return administers(db, invitation.invited_by_id, parent);
}
