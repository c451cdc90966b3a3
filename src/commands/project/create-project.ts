import type { EventMetadata } from "../../events/core/event.ts";
import { type CommandResult, handle } from "../core/handle.ts";
import { hold } from "./claim-child.ts";
import { type ProjectCommand, project } from "./project.ts";
import { type ProjectDeps, reserveProjectName } from "./project-name.ts";

/**
 * Reserves the alias under its owner, then creates the project. May be repeated with the same
 * project id and command id.
 *
 * @throws Refusal `unprocessable` with `alias.taken`, `owner.not_found`.
 */
export async function createProject(
  deps: ProjectDeps,
  command: Extract<ProjectCommand, { type: "CreateProject" }>,
  metadata: EventMetadata,
): Promise<CommandResult> {
  const { projectId: id } = command;
  await reserveProjectName(deps, id, command, metadata);
  await hold(deps, command, { heldId: id, heldType: "PROJECT" }, metadata);
  return handle(deps.store, project, { id, command, metadata });
}
