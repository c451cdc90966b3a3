import type { Knex } from "knex";
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

/**
 * May stop and begin again anywhere: git replaces packs only by complete ones, and pushes go on beside
 * it. Another maintenance would take packs away under it, so one at a time is at a repository.
 */
export const repositoryMaintenanceWorker = defineWorker({
  queue,
  concurrency: 1,
  payload: z.object({ projectId: z.uuid() }),
  async run({ projectId }, deps: Pick<WorkerDeps, "db" | "git" | "now">) {
    const repository = await deps.git.find(projectId);
    if (repository !== undefined) await alone(deps.db, projectId, () => repository.maintain());
    await measure(projectId, deps);
  },
});

/** Does nothing while another process is at it: what it leaves is packed the next time. */
async function alone(db: Knex, projectId: string, run: () => Promise<void>): Promise<void> {
  await db.transaction(async (tx) => {
    const { rows } = await tx.raw<{ rows: readonly { mine: boolean }[] }>(
      "select pg_try_advisory_xact_lock(hashtextextended(?, 0)) as mine",
      [`maintenance ${projectId}`],
    );
    if (rows[0]?.mine === true) await run();
  });
}
