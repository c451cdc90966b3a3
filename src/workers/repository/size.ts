import { z } from "zod";

import { lfsObjectEvents } from "../../events/git/lfs-object.ts";
import { bytesTaken, keepRepositorySize } from "../../projections/project/repository-size.ts";
import type { WorkerDeps } from "../core/deps.ts";
import type { Reactor } from "../core/reactor.ts";
import { defineWorker } from "../core/worker.ts";

const queue = "repository-size";

/** After each LFS object: some are pushed without a ref, and all of them before it. */
export const lfsSize: Reactor = {
  name: "lfs-size",
  types: new Set(Object.keys(lfsObjectEvents)),
  async react({ position, data, metadata }, { visible }) {
    await visible(position);
    const projectId = String(data["projectId"]);
    return [{ queue, id: `${projectId}-${metadata.commandId}`, data: { projectId } }];
  },
};

export const repositorySizeWorker = defineWorker({
  queue,
  concurrency: 1,
  payload: z.object({ projectId: z.uuid() }),
  run: ({ projectId }, deps) => measure(projectId, deps),
});

/** Writes down what a project takes now. Nothing for one without a repository. */
export async function measure(
  projectId: string,
  { db, git, now }: Pick<WorkerDeps, "db" | "git" | "now">,
): Promise<void> {
  const repository = await git.find(projectId);
  if (repository === undefined) return;
  await keepRepositorySize(db, projectId, await bytesTaken(db, projectId, repository), now());
}
