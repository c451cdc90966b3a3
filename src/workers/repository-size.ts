import { z } from "zod";

import { repositoryEvents } from "../events/repository.ts";
import { idInStream } from "../events/stream.ts";
import { keepRepositorySize } from "../projections/repository-size.ts";
import type { WorkerDeps } from "./deps.ts";
import type { Reactor } from "./reactor.ts";
import { defineWorker } from "./worker.ts";

const queue = "repository-size";

/** After each push, however many refs it changed. */
export const repositorySize: Reactor = {
  name: "repository-size",
  types: new Set(Object.keys(repositoryEvents)),
  react: async ({ stream, metadata }) => {
    const projectId = idInStream(stream);
    return [{ queue, id: `${projectId}-${metadata.commandId}`, data: { projectId } }];
  },
};

export const repositorySizeWorker = defineWorker({
  queue,
  concurrency: 1,
  payload: z.object({ projectId: z.uuid() }),
  run: ({ projectId }, deps) => measure(projectId, deps),
});

/** Writes down how large a repository is now. Nothing for one that is not there. */
export async function measure(
  projectId: string,
  { db, git, now }: Pick<WorkerDeps, "db" | "git" | "now">,
): Promise<void> {
  const repository = await git.find(projectId);
  if (repository === undefined) return;
  await keepRepositorySize(db, projectId, await repository.bytes(), now());
}
