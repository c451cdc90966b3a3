import type { Knex } from "knex";

import { Refusal } from "../platform/refusal.ts";
import { findProject, findProjectById, type ProjectRow } from "../projections/project.ts";
import { atLeast, type Role } from "./access.ts";
import type { Gate } from "./gate.ts";

/**
 * The caller's role in a project: the owner's is ADMIN, everybody's in a public project GUEST. The
 * administrator flag of the instance opens the administrator endpoints and gives no role here.
 */
export function roleIn(project: ProjectRow, userId: string | null): Role | undefined {
  if (userId !== null && project.owner_type === "USER" && project.owner_id === userId) {
    return "ADMIN";
  }
  return project.is_private ? undefined : "GUEST";
}

/**
 * Finds the project that a path names by `ownerAlias` and `projectAlias`, or by `projectUuid`, and
 * holds the caller's role against the one needed.
 */
export function projectAccess(db: Knex): Gate["project"] {
  return async (params, caller, needed) => {
    const project = await named(db, params);
    if (project === undefined) {
      throw new Refusal("not_found", "project.not_found", "Project not found.");
    }
    const role = roleIn(project, caller.userId);
    if (role === undefined || !atLeast(role, needed)) throw roleMissing(needed);
    return { project, role };
  };
}

export function roleMissing(needed: Role): Refusal {
  const message = `This needs the role ${needed} in the project.`;
  return new Refusal("forbidden", "auth.role_missing", message, { extra: { role: needed } });
}

function named(
  db: Knex,
  { ownerAlias, projectAlias, projectUuid }: Readonly<Record<string, unknown>>,
): Promise<ProjectRow | undefined> {
  if (typeof projectUuid === "string") return findProjectById(db, projectUuid);
  return findProject(db, String(ownerAlias), String(projectAlias));
}
