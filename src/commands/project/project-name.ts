import { decode } from "../../events/core/decode.ts";
import type { EventMetadata } from "../../events/core/event.ts";
import { projectAliasStream } from "../../events/core/reservation.ts";
import { projectEvents, projectStream } from "../../events/project/project.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import { currentState } from "../core/handle.ts";
import { type NameToReserve, releaseName, reserveName } from "../core/reserve-name.ts";
import { isExisting, project } from "./project.ts";

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
      const state = await currentState(deps.store, project, id);
      return state.status === "created" && streamOf(state) === name;
    },
    taken: {
      field: "alias",
      code: "alias.taken",
      message: "The owner already has a project of this alias.",
    },
  };
  await reserveName(deps, toReserve, metadata);
}

/**
 * Frees every former name of the project, and all names of a deleted one. A name that another project
 * holds by now stays reserved for it, so this may be repeated at any time.
 */
export async function releaseOldProjectNames(
  deps: ProjectDeps,
  projectId: string,
  metadata: EventMetadata,
): Promise<void> {
  const names = new Set<string>();
  let state = project.decider.initialState;
  for await (const recorded of deps.store.readStream(projectStream(projectId))) {
    state = project.decider.evolve(state, decode(projectEvents, recorded));
    if (isExisting(state)) names.add(streamOf(state));
  }
  if (state.status === "created") names.delete(streamOf(state));
  for (const name of names) await releaseName(deps, name, projectId, metadata);
}
