import { createHash } from "node:crypto";

import type { EventMetadata } from "../../events/core/event.ts";
import { releaseTagStream } from "../../events/core/reservation.ts";
import { releaseStream } from "../../events/release/release.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import { type CommandResult, currentState, handle } from "../core/handle.ts";
import { releaseOldNames, reserveName } from "../core/reserve-name.ts";
import { type ReleaseCommand, type ReleaseState, release, releaseNotFound } from "./release.ts";

export type ReleaseDeps = Readonly<{ store: EventStore; now: () => string }>;

type Command<Type extends ReleaseCommand["type"]> = Extract<ReleaseCommand, { type: Type }>;

/** Which release, and the envelope of what happens to it. */
type Change = Readonly<{ id: string; metadata: EventMetadata }>;

/** May be repeated with the same release and command. @throws Refusal 422 `release.tag_taken` */
export async function createRelease(
  deps: ReleaseDeps,
  change: Change,
  command: Command<"CreateRelease">,
): Promise<CommandResult> {
  await reserveTag(deps, change, command.projectId, command.tagName);
  return handle(deps.store, release, { ...change, command });
}

/** @throws Refusal 422 `release.tag_taken`, 404 `release.not_found` */
export async function editRelease(
  deps: ReleaseDeps,
  change: Change,
  command: Command<"EditRelease">,
): Promise<CommandResult> {
  // Nobody would give back a tag that was taken for a release that is gone.
  const state = await currentState(deps.store, release, change.id);
  if (state.status !== "created") throw releaseNotFound();
  await reserveTag(deps, change, command.projectId, command.details.tagName);
  return finish(deps, change, command);
}

/** @throws Refusal 404 `release.not_found` */
export function deleteRelease(
  deps: ReleaseDeps,
  change: Change,
  command: Command<"DeleteRelease">,
): Promise<CommandResult> {
  return finish(deps, change, command);
}

function reserveTag(
  deps: ReleaseDeps,
  { id, metadata }: Change,
  projectId: string,
  tagName: string,
): Promise<void> {
  const name = streamOf(projectId, tagName);
  const toReserve = {
    name,
    holderId: id,
    holderStreams: (holderId: string) => [releaseStream(holderId)],
    // A change that died half-way leaves a release with two tags, one of which is not its own.
    async stillHolds(holderId: string) {
      return tagHeldBy(await currentState(deps.store, release, holderId)) === name;
    },
    taken: {
      field: "tagName",
      code: "release.tag_taken",
      message: "The tag already has a release.",
    },
  };
  return reserveName(deps, toReserve, metadata);
}

/** Whatever came of the command, tags that are not the release's are given back. */
async function finish(
  deps: ReleaseDeps,
  change: Change,
  command: ReleaseCommand,
): Promise<CommandResult> {
  try {
    return await handle(deps.store, release, { ...change, command });
  } finally {
    await releaseOldNames(deps, release, change, tagHeldBy);
  }
}

const tagHeldBy = (state: ReleaseState): string | undefined =>
  state.status === "created" ? streamOf(state.projectId, state.details.tagName) : undefined;

const streamOf = (projectId: string, tagName: string): string =>
  releaseTagStream(projectId, createHash("sha256").update(tagName).digest("hex").slice(0, 40));
