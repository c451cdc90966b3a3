import { z } from "zod";

import { repositoryEvents } from "../events/repository.ts";
import { idInStream } from "../events/stream.ts";
import type { WorkerDeps } from "./deps.ts";
import type { Reactor } from "./reactor.ts";
import { measure } from "./repository-size.ts";
import { defineWorker } from "./worker.ts";

const queue = "repository-maintenance";
/** A push leaves a pack or loose objects behind; so many of them still read quickly. */
const changesBetween = 32n;

/**
 * Repositories are packed after the first push, which may bring a long history, and then from time
 * to time as they change: reading and counting stay fast, and nobody waits for it in a push.
 */
export const repositoryMaintenance: Reactor = {
  name: "repository-maintenance",
  types: new Set(Object.keys(repositoryEvents)),
  react: async ({ stream, revision }) => {
    if (revision % changesBetween !== 0n) return [];
    const projectId = idInStream(stream);
    return [{ queue, id: `${projectId}-${revision}`, data: { projectId } }];
  },
};

/** May stop and begin again anywhere: git replaces packs only by complete ones. */
export const repositoryMaintenanceWorker = defineWorker({
  queue,
  concurrency: 1,
  payload: z.object({ projectId: z.uuid() }),
  async run({ projectId }, deps: Pick<WorkerDeps, "db" | "git" | "now">) {
    const repository = await deps.git.find(projectId);
    await repository?.maintain();
    await measure(projectId, deps);
  },
});
