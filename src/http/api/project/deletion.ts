import { deleteProject, restoreProject } from "../../../commands/project/change-project.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { findDeletedProject, findProjectById } from "../../../projections/project/project.ts";
import { projectRole } from "../../../projections/team/member-role.ts";
import { mustBeFound, mustSuffice } from "../../access/role-access.ts";
import { commandDeps, stampOf } from "../../core/command-deps.ts";
import { type Route, route } from "../../core/route.ts";
import { addresses, ProjectView, projectView } from "./view.ts";

const dayMs = 24 * 3_600_000;

const remove = route({
  method: "delete",
  path: "/project/{projectUuid}/delete",
  operationId: "deleteProject",
  summary: "Delete a project",
  description:
    "It can be restored with everything in it for the time the instance keeps it, 30 days unless told otherwise. Its alias is free at once.",
  tag: "Projects",
  scope: "PROJECT_EDIT",
  access: "project:ADMIN",
  reply: "empty",
  async handle({ request }, deps) {
    const command = { type: "DeleteProject", ...stampOf(request, deps) } as const;
    await request.executeProcess((metadata) =>
      deleteProject(commandDeps(deps), { id: request.project.id, metadata }, command),
    );
  },
});

const restore = route({
  method: "post",
  path: "/project/{projectUuid}/restore",
  operationId: "restoreProject",
  summary: "Restore a deleted project",
  description:
    "For its ADMINs, as long as the instance keeps it, while no other project has taken its alias.",
  tag: "Projects",
  scope: "PROJECT_EDIT",
  access: "user",
  reply: ProjectView,
  async handle({ params: { projectUuid: id }, request }, deps) {
    const { db, now, config } = deps;
    const retentionMs = config.projectRetentionDays * dayMs;
    // One that is there already is answered as it is.
    const row = mustBeFound(
      (await findDeletedProject(db, id)) ?? (await findProjectById(db, id)),
      "project",
    );
    mustSuffice(await projectRole(db, row, request.userId), { resource: "project", role: "ADMIN" });
    if (row.deleted_at !== null && now().getTime() - row.deleted_at.getTime() > retentionMs) {
      throw new Refusal("not_found", "project.not_found", "Project not found.");
    }
    const command = {
      type: "RestoreProject",
      ...stampOf(request, { now }),
    } as const;
    await request.executeProcess((metadata) =>
      restoreProject(commandDeps(deps), { id, metadata }, command),
    );
    const restored = mustBeFound(await findProjectById(db, id), "project");
    return projectView(restored, await addresses(deps));
  },
});

export const projectDeletionRoutes: readonly Route[] = [remove, restore];
