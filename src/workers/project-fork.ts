import { randomUUID } from "node:crypto";
import { z } from "zod";

import { currentState, handle } from "../commands/handle.ts";
import { lfsObject } from "../commands/lfs-object.ts";
import { isExisting, project } from "../commands/project.ts";
import { EventMetadata } from "../events/event.ts";
import { ProjectId } from "../events/ids.ts";
import { lfsInheritanceId } from "../events/lfs-object.ts";
import { projectEvents } from "../events/project.ts";
import { repositoryStream } from "../events/repository.ts";
import { copyRepository } from "../platform/git/copy.ts";
import { PermanentFailure } from "../platform/queue.ts";
import type { Reactor } from "./reactor.ts";
import { type RefRecorderDeps, refRecorder } from "./ref-recorder.ts";
import { defineWorker } from "./worker.ts";

const queue = "project-fork";
/** Whoever forks copies at once; this is for a process that did not live to do it. */
const delayMs = 60_000;

/**
 * Fills a fork with the branches and tags of the project it was made from, once: a repository that
 * anything has happened in is left alone. The refs are announced and recorded as those of a push by
 * whoever forked.
 *
 * @param metadata envelope of the request that forked
 * @returns the log position that shows the refs, if there are any
 * @throws PermanentFailure when there is no such fork
 */
export async function fillFork(
  deps: RefRecorderDeps,
  forkId: string,
  metadata: EventMetadata,
): Promise<bigint | undefined> {
  const { store, git } = deps;
  const fork = await currentState(store, project, forkId);
  if (!isExisting(fork) || fork.forkedFromId === undefined) {
    throw new PermanentFailure(`${forkId} is no fork`);
  }
  for await (const _ of store.readStreamBackwards(repositoryStream(forkId), 1)) return undefined;
  const source = await git.find(fork.forkedFromId);
  const refs = await source?.refs();
  if (source === undefined || refs === undefined || refs.size === 0) return undefined;
  await inheritLfsObjects(deps, fork.forkedFromId, forkId, metadata);

  const repository = await git.ensure(forkId, fork.defaultBranch);
  const pushId = randomUUID();
  const push = {
    pushId,
    projectId: forkId,
    metadata: { ...metadata, commandId: pushId },
    refs: [...refs].map(([ref, after]) => ({ ref, before: null, after })),
  };
  const recorder = refRecorder(deps);
  await recorder.begin(push);
  const made = await copyRepository(source, repository, refs);
  return await recorder.finish(push, new Set(made ? refs.keys() : []));
}

/** What pointers in the copied commits stand for, so that a clone of the fork is whole. */
async function inheritLfsObjects(
  { store, now }: RefRecorderDeps,
  from: string,
  forkId: string,
  metadata: EventMetadata,
): Promise<void> {
  const [projectId, fromProjectId] = [ProjectId.parse(forkId), ProjectId.parse(from)];
  const at = now().toISOString();
  const command = { type: "InheritLfsObjects", projectId, fromProjectId, at } as const;
  await handle(store, lfsObject, { id: lfsInheritanceId(forkId), command, metadata });
}

export const projectFork: Reactor = {
  name: "project-fork",
  types: new Set(["ProjectCreated"]),
  react: async ({ id, data, metadata }) => {
    const { projectId: forkId, forkedFromId } = projectEvents.ProjectCreated.parse(data);
    return forkedFromId === undefined ? [] : [{ queue, id, data: { forkId, metadata }, delayMs }];
  },
};

export const projectForkWorker = defineWorker({
  queue,
  concurrency: 2,
  payload: z.object({ forkId: z.uuid(), metadata: EventMetadata }),
  async run({ forkId, metadata }, deps) {
    await fillFork(deps, forkId, metadata);
  },
});
