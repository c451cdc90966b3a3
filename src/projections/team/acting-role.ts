import type { Knex } from "knex";

import type { Role } from "../../events/core/role.ts";
import { findUserById } from "../user/user.ts";
import { type ProjectPlace, projectRole } from "./member-role.ts";

/**
 * The role in whose right something is done now that was asked for earlier. An account that is banned keeps its
 * roles, and one that was forgotten may have owned the project: neither acts.
 */
export async function actingRole(
  db: Knex,
  project: ProjectPlace,
  userId: string,
): Promise<Role | undefined> {
  const [user, role] = await Promise.all([
    findUserById(db, userId),
    projectRole(db, project, userId),
  ]);
  const acts = user !== undefined && user.banned_at === null && user.forgotten_at === null;
  return acts ? role : undefined;
}
