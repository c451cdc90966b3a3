import { z } from "zod";

import { EventMetadata } from "../../events/core/event.ts";
import { projectEvents } from "../../events/project/project.ts";
import { PermanentFailure } from "../../platform/queue/queue.ts";
import { Refusal } from "../../platform/refusal.ts";
import { fillFork } from "../../services/project/fork.ts";
import type { Reactor } from "../core/reactor.ts";
import { defineWorker } from "../core/worker.ts";

const queue = "project-fork";
/** The forking request copies at once; the job serves when that process died before. */
const delayMs = 60_000;

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
  concurrency: 4,
  payload: z.object({ forkId: z.uuid(), metadata: EventMetadata }),
  async run({ forkId, metadata }, deps) {
    await fillFork(deps, forkId, metadata).catch((error: unknown) => {
      const isFull = error instanceof Refusal && error.code === "project.full";
      throw isFull ? new PermanentFailure(`${forkId} has no room for what it is made from`) : error;
    });
  },
});
