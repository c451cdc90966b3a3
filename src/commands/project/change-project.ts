import type { EventMetadata } from "../../events/core/event.ts";
import { type CommandResult, currentState, handle } from "../core/handle.ts";
import { hold } from "./claim-child.ts";
import { isExisting, type ProjectCommand, project } from "./project.ts";
import { type ProjectDeps, releaseOldProjectNames, reserveProjectName } from "./project-name.ts";

type Command<Type extends ProjectCommand["type"]> = Extract<ProjectCommand, { type: Type }>;
/** Which project, and the envelope of what happens to it. */
type Change = Readonly<{ id: string; metadata: EventMetadata }>;

/** @throws Refusal `alias.taken`, `project.not_found`, `project.changed` */
export async function changeProjectAlias(
  deps: ProjectDeps,
  { id, metadata }: Change,
  command: Command<"ChangeProjectAlias">,
): Promise<CommandResult> {
  await reserveProjectName(deps, id, command, metadata);
  return finish(deps, { id, metadata }, command);
}

/** @throws Refusal `alias.taken`, `owner.not_found`, `project.not_found`, `project.changed` */
export async function transferProject(
  deps: ProjectDeps,
  { id, metadata }: Change,
  command: Command<"TransferProject">,
): Promise<CommandResult> {
  await reserveProjectName(deps, id, command, metadata);
  await hold(deps, command, { heldId: id, heldType: "PROJECT" }, metadata);
  return finish(deps, { id, metadata }, command);
}

/** Its name becomes free; everything else stays. @throws Refusal `project.not_found` */
export function deleteProject(
  deps: ProjectDeps,
  change: Change,
  command: Command<"DeleteProject">,
): Promise<CommandResult> {
  return finish(deps, change, command);
}

/** @throws Refusal `alias.taken` when another project got its name meanwhile, `project.not_found` */
export async function restoreProject(
  deps: ProjectDeps,
  { id, metadata }: Change,
  command: Command<"RestoreProject">,
): Promise<CommandResult> {
  const state = await currentState(deps.store, project, id);
  if (isExisting(state)) {
    await reserveProjectName(deps, id, state, metadata);
    await hold(deps, state, { heldId: id, heldType: "PROJECT" }, metadata);
  }
  return finish(deps, { id, metadata }, command);
}

/** Whatever came of the command, names that are not the project's are given back. */
async function finish(
  deps: ProjectDeps,
  { id, metadata }: Change,
  command: ProjectCommand,
): Promise<CommandResult> {
  try {
    return await handle(deps.store, project, { id, command, metadata });
  } finally {
    await releaseOldProjectNames(deps, id, metadata);
  }
}
