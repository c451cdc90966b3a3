import { randomUUID } from "node:crypto";

import { currentState } from "../../commands/core/handle.ts";
import { isExisting, project } from "../../commands/project/project.ts";
import type { EventMetadata, PushWishes } from "../../events/core/event.ts";
import { ProjectId } from "../../events/core/ids.ts";
import { repositoryStream } from "../../events/repository/repository.ts";
import { copyRepository } from "../../git/copy.ts";
import { packedBytes } from "../../git/copy-commits.ts";
import type { Refs, Repository } from "../../git/repository.ts";
import { holding } from "../../platform/blob/room.ts";
import { PermanentFailure } from "../../platform/queue/queue.ts";
import { Refusal } from "../../platform/refusal.ts";
import { lfsBytes } from "../../projections/git/lfs-object.ts";
import { findProjectById } from "../../projections/project/project.ts";
import { allowedBytes, roomInProject } from "../../projections/project/repository-size.ts";
import { actingRole } from "../../projections/team/acting-role.ts";
import { inheritLfsObjects, lfsObjectsToInherit } from "../git/lfs-inheritance.ts";
import { type RefRecorderDeps, refRecorder } from "../git/ref-recorder.ts";

export type ForkDeps = RefRecorderDeps &
  Readonly<{
    config: Readonly<{ projectBytesMax: number | null }>;
    visible: (position: bigint | undefined) => Promise<void>;
  }>;

/** Its pipelines have run in the project it was made from. */
const withoutPipelines: PushWishes = { ciSkip: true, ciVariables: null, mergeRequest: null };

/**
 * Fills a fork with the branches and tags of the project it was made from, once: a repository that has any
 * event is left alone. The right of the forking user to read the source is checked again, because a worker
 * may do this long after the request. The refs are announced and recorded as those of a push by that user.
 *
 * @param metadata envelope of the request that forked
 * @returns the log position that shows the refs, if there are any
 * @throws PermanentFailure when there is no such fork; Refusal 413 `project.full`
 */
export async function fillFork(
  deps: ForkDeps,
  forkId: string,
  metadata: EventMetadata,
): Promise<bigint | undefined> {
  const { store, git, log } = deps;
  const fork = await currentState(store, project, forkId);
  if (!isExisting(fork) || fork.forkedFromId === undefined) {
    throw new PermanentFailure(`${forkId} is no fork`);
  }
  for await (const _ of store.readStreamBackwards(repositoryStream(forkId), 1)) return undefined;
  if (!(await mayBeCopied(deps, fork.forkedFromId, fork.private, metadata.actor.userId))) {
    log.info({ forkId, sourceId: fork.forkedFromId }, "fork stays empty: its source is closed now");
    return undefined;
  }
  const source = await git.find(fork.forkedFromId);
  const refs = await source?.refs();
  if (source === undefined || refs === undefined || refs.size === 0) return undefined;
  const between = { fromProjectId: fork.forkedFromId, projectId: forkId };
  const of = { tips: refs.values() };
  // First: a clone of what is copied shall be whole.
  const objects = await lfsObjectsToInherit({ ...between, repository: source, of }, deps);
  const allowed = fork.allowedBytes === null ? null : BigInt(fork.allowedBytes);
  const row = { id: ProjectId.parse(forkId), allowed_bytes: allowed };
  const inLfs = [...objects.values()].reduce((sum, each) => sum + each, 0);
  const isLimited = allowedBytes(row, deps.config.projectBytesMax) !== null;
  const bytes = isLimited ? inLfs + (await packedBytes(source, [...refs.values()])) : 0;
  return await holding(roomInProject(row, deps, bytes), async (room) => {
    await room.reach(bytes);
    await inheritLfsObjects(between, objects, metadata, deps);
    const reach = (packed: number) => room.reach(inLfs + packed);
    const position = await copyAll({ source, refs, reach }, { ...fork, forkId }, metadata, deps);
    await deps.visible(position);
    return position;
  });
}

type Copied = Readonly<{
  source: Repository;
  refs: Refs;
  reach: (bytes: number) => Promise<void>;
}>;

async function copyAll(
  { source, refs, reach }: Copied,
  { forkId, defaultBranch }: Readonly<{ forkId: string; defaultBranch: string }>,
  metadata: EventMetadata,
  deps: ForkDeps,
): Promise<bigint | undefined> {
  const repository = await deps.git.ensure(forkId, defaultBranch);
  const pushId = randomUUID();
  const push = {
    pushId,
    projectId: forkId,
    metadata: { ...metadata, commandId: pushId, push: withoutPipelines },
    refs: [...refs].map(([ref, after]) => ({ ref, before: null, after })),
  };
  const recorder = refRecorder(deps);
  await recorder.begin(push);
  const isCopied = await copyRepository(source, repository, refs, reach);
  return await recorder.finish(push, new Set(isCopied ? refs.keys() : []));
}

/**
 * What a fork may not be larger than is refused before it is made.
 *
 * @throws Refusal 422 `project.full`
 */
export async function mustFitInFork(deps: ForkDeps, sourceId: string): Promise<void> {
  const { db, git, config } = deps;
  const source = config.projectBytesMax === null ? undefined : await git.find(sourceId);
  if (source === undefined || config.projectBytesMax === null) return;
  const tips = [...(await source.refs()).values()];
  const packed = tips.length === 0 ? 0 : await packedBytes(source, tips);
  if (packed + (await lfsBytes(db, sourceId)) <= config.projectBytesMax) return;
  const message = "The project is larger than a fork of it may be.";
  throw new Refusal("unprocessable", "project.full", message);
}

/** Whether the forking user may read the source, and those who see the fork may see its content. */
async function mayBeCopied(
  { db }: RefRecorderDeps,
  sourceId: string,
  forkIsPrivate: boolean,
  userId: string | null,
): Promise<boolean> {
  const source = await findProjectById(db, sourceId);
  if (source === undefined || (source.is_private && !forkIsPrivate)) return false;
  return (await actingRole(db, source, userId)) !== undefined;
}
