import type { Knex } from "knex";

import { Role } from "../../events/core/role.ts";
import { Refusal } from "../../platform/refusal.ts";
import { findProject } from "../../projections/project/project.ts";
import { projectRole } from "../../projections/team/member-role.ts";
import type { GitAccess } from "./caller.ts";

/**
 * The project a client names, if the user's role in it is high enough.
 *
 * @throws Refusal 404 `project.not_found`, 403 `auth.role_missing`
 */
export async function mustReach(
  db: Knex,
  { ownerAlias, projectAlias }: Readonly<{ ownerAlias: string; projectAlias: string }>,
  userId: string,
  needed: Role,
): Promise<GitAccess> {
  const project = await findProject(db, ownerAlias, projectAlias);
  if (project === undefined) {
    throw new Refusal("not_found", "project.not_found", "Project not found.");
  }
  const role = await projectRole(db, project, userId);
  if (role === undefined || Role.options.indexOf(role) < Role.options.indexOf(needed)) {
    const message = `This needs the role ${needed} in the project.`;
    throw new Refusal("forbidden", "auth.role_missing", message, { extra: { role: needed } });
  }
  return { project, role };
}
