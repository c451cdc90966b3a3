import type { EventMetadata } from "../../events/event.ts";
import { projectStream } from "../../events/project.ts";
import { projectAliasStream } from "../../events/reservation.ts";
import type { EventStore } from "../../platform/event-store.ts";
import { type CommandResult, handle } from "../handle.ts";
import { type ProjectCommand, project } from "../project.ts";
import { reserveName } from "./reserve-name.ts";

export type CreateProjectDeps = Readonly<{ store: EventStore; now: () => string }>;

/**
 * Reserves the alias under its owner, then creates the project. May be repeated with the same
 * project id and command id.
 *
 * @throws Refusal `unprocessable` with `alias.taken`.
 */
export async function createProject(
  deps: CreateProjectDeps,
  command: Extract<ProjectCommand, { type: "CreateProject" }>,
  metadata: EventMetadata,
): Promise<CommandResult> {
  const { projectId, ownerId, alias } = command;
  await reserveName(
    deps,
    {
      name: projectAliasStream(ownerId, alias),
      holderId: projectId,
      holderStreams: (id) => [projectStream(id)],
      taken: {
        field: "alias",
        code: "alias.taken",
        message: "The owner already has a project of this alias.",
      },
    },
    metadata,
  );
  return handle(deps.store, project, { id: projectId, command, metadata });
}
