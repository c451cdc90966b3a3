import type { Knex } from "knex";
import { z } from "zod";
import { idInStream } from "../../events/core/stream.ts";
import { repositoryEvents } from "../../events/repository/repository.ts";
import { BoundedCache } from "../../platform/bounded-cache.ts";
import { appliedRevision } from "../../projections/repository/git-ref.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import type { Reactor } from "../core/reactor.ts";
import { defineWorker } from "../core/worker.ts";
import { measure } from "./size.ts";

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
    const data = { projectId, revision: Number(revision) };
    return [{ queue, id: `${projectId}-${revision}`, data }];
  },
  coveredBy: ({ data }) => String(data["projectId"]),
  batchMs: 250,
};

/** Revision of a repository's stream that its last maintenance here had before it, or a later one. */
const maintained = new BoundedCache<number>(1024 ** 2);
const entryBytes = 150;

/**
 * May stop and begin again anywhere: git replaces packs only by complete ones, and pushes go on beside
 * it. Another maintenance would take packs away under it, so one at a time is at a repository.
 */
export const repositoryMaintenanceWorker = defineWorker({
  queue,
  concurrency: 2,
  payload: z.object({ projectId: z.uuid(), revision: z.int().nonnegative().optional() }),
  async run({ projectId, revision }, deps: Pick<WorkerDeps, "db" | "git" | "now">) {
    // A push of many refs requests it many times, and the first one packed all of it.
    if (revision !== undefined && revision <= (maintained.get(projectId) ?? -1)) return;
    const applied = await appliedRevision(deps.db, projectId);
    const repository = await deps.git.find(projectId);
    const done = repository && (await alone(deps.db, projectId, () => repository.maintain()));
    await measure(projectId, deps);
    if (done === true && applied !== undefined)
      maintained.set(projectId, Number(applied), entryBytes);
  },
});

/**
 * Does nothing while another process is at it: what it leaves is packed the next time.
 *
 * @returns whether it was done
 */
async function alone(db: Knex, projectId: string, run: () => Promise<void>): Promise<boolean> {
  return db.transaction(async (tx) => {
    const { rows } = await tx.raw<{ rows: readonly { mine: boolean }[] }>(
      "select pg_try_advisory_xact_lock(hashtextextended(?, 0)) as mine",
      [`maintenance ${projectId}`],
    );
    const mine = rows[0]?.mine === true;
    if (mine) await run();
    return mine;
  });
}
