import type { Knex } from "knex";

import type { Role } from "../../events/core/role.ts";
import { findUserById, findUsersById } from "../user/user.ts";
import { type ProjectScope, projectRole, projectRoles } from "./member-role.ts";

/**
 * The role in whose right a change is made now that was requested earlier. A banned account keeps its
 * roles, and a forgotten one may have owned the project: neither acts. Without a user, the role that everybody has.
 */
export async function actingRole(
  db: Knex,
  project: ProjectScope,
  userId: string | null,
): Promise<Role | undefined> {
  if (userId === null) return projectRole(db, project, null);
  const [user, role] = await Promise.all([
    findUserById(db, userId),
    projectRole(db, project, userId),
  ]);
  const acts = user !== undefined && user.banned_at === null && user.forgotten_at === null;
  return acts ? role : undefined;
}

/** The same for several users; who does not act, or has no right at all, is left out. */
export async function actingRoles(
  db: Knex,
  project: ProjectScope,
  userIds: readonly string[],
): Promise<ReadonlyMap<string, Role>> {
  if (userIds.length === 0) return new Map();
  const [users, roles] = await Promise.all([
    findUsersById(db, userIds),
    projectRoles(db, project, userIds),
  ]);
  return new Map([...roles].filter(([id]) => users.get(id)?.banned_at === null));
}
