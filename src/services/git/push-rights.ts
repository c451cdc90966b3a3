import type { Knex } from "knex";

import { Role } from "../../events/core/role.ts";
import { findProjectById } from "../../projections/project/project.ts";
import { projectRole } from "../../projections/team/member-role.ts";
import type { GitAccess, GitCaller } from "./caller.ts";
import { mayGoOn } from "./connections.ts";

type Pusher = Readonly<{ project: Pick<GitAccess["project"], "id">; caller: GitCaller }>;

/**
 * The present project and role of a user who was admitted to push: a pack may take hours to arrive, and
 * the project, the role, the account, the token or the key may have gone meanwhile.
 *
 * @returns undefined when they may not push any more
 */
export async function accessOfPusher(
  db: Knex,
  { project, caller }: Pusher,
  now: Date,
): Promise<GitAccess | undefined> {
  const { userId, actor, sshKeyId } = caller;
  if (userId === null) return undefined;
  const found = await findProjectById(db, project.id);
  const role = found && (await projectRole(db, found, userId));
  if (role === undefined || Role.options.indexOf(role) < Role.options.indexOf("DEVELOPER")) {
    return undefined;
  }
  const { tokenId } = actor;
  const byApplication = actor.via === "oauth";
  const isGood = await mayGoOn(db, { userId, tokenId, byApplication, sshKeyId }, now);
  return found && isGood ? { project: found, role } : undefined;
}
