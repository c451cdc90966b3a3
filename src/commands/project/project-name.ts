import type { EventMetadata } from "../../events/core/event.ts";
import { projectAliasStream } from "../../events/core/reservation.ts";
import { projectStream } from "../../events/project/project.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import { currentState } from "../core/handle.ts";
import { type NameToReserve, releaseOldNames, reserveName } from "../core/reserve-name.ts";
import { type ProjectState, project } from "./project.ts";

export type ProjectDeps = Readonly<{ store: EventStore; now: () => string }>;

/** What a project goes by under its owner. */
export type ProjectName = Readonly<{ ownerId: string; alias: string }>;

const streamOf = ({ ownerId, alias }: ProjectName): string => projectAliasStream(ownerId, alias);

/**
 * Takes the name for a project, new or not.
 *
 * @throws Refusal `unprocessable` with `alias.taken`.
 */
export async function reserveProjectName(
  deps: ProjectDeps,
  projectId: string,
  wanted: ProjectName,
  metadata: EventMetadata,
): Promise<void> {
  const name = streamOf(wanted);
  const toReserve: NameToReserve = {
    name,
    holderId: projectId,
    holderStreams: (id) => [projectStream(id)],
    // A change that died half-way leaves a project with two names, one of which is not its own.
    async stillHolds(id) {
      return nameHeldBy(await currentState(deps.store, project, id)) === name;
    },
    taken: {
      field: "alias",
      code: "alias.taken",
      message: "The owner already has a project of this alias.",
    },
  };
  await reserveName(deps, toReserve, metadata);
}

/** Frees every former name of the project, and all names of a deleted one. */
export const releaseOldProjectNames = (
  deps: ProjectDeps,
  projectId: string,
  metadata: EventMetadata,
): Promise<void> => releaseOldNames(deps, project, { id: projectId, metadata }, nameHeldBy);

const nameHeldBy = (state: ProjectState): string | undefined =>
  state.status === "created" ? streamOf(state) : undefined;
