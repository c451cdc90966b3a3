import type { Knex } from "knex";
import { z } from "zod";
import { currentState, handle } from "../../commands/core/handle.ts";
import { project } from "../../commands/project/project.ts";
import { releaseOldProjectNames } from "../../commands/project/project-name.ts";
import { ProjectId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import { bySystem } from "../../events/core/system.ts";
import { projectEvents, projectSubject } from "../../events/project/project.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import type { Job } from "../../platform/queue/queue.ts";
import type { AuditEntryRow } from "../../projections/audit/entry.ts";
import { dropSnapshots } from "../../projections/past/snapshot.ts";
import { projectsDeletedBefore } from "../../projections/project/project.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import type { Reactor } from "../core/reactor.ts";
import { defineWorker } from "../core/worker.ts";

const queue = "project-purge";
const dayMs = 24 * 3_600_000;
const projectsAtOnce = 100;

const purgeJob = (projectId: string, occasion: string): Job => ({
  queue,
  id: `${projectId}-${occasion}`,
  data: { projectId },
});

/** A purge in the log is carried out, also when the process that recorded it died before. */
export const projectPurge: Reactor = {
  name: "project-purge",
  types: new Set(["ProjectPurged"]),
  react: async ({ id, data }) => {
    const { projectId } = projectEvents.ProjectPurged.parse(data);
    return [purgeJob(projectId, id)];
  },
};

/** Projects whose time for being restored is over. */
export async function sweepDeletedProjects(deps: WorkerDeps): Promise<void> {
  const ids = await projectsDeletedBefore(deps.db, limitOf(deps), projectsAtOnce);
  // A new name every day, should a job have failed for good.
  const day = Math.floor(deps.now().getTime() / dayMs);
  await deps.queues.add(ids.map((id) => purgeJob(id, `day-${day}`)));
}

const limitOf = ({ config, now }: WorkerDeps): Date =>
  new Date(now().getTime() - config.projectRetentionDays * dayMs);

/** Tables that are not read models, with rows of one project. */
const kept = [
  "push_intent",
  "push_count_progress",
  "mirror_sync",
  "repository_size",
  "job_run",
  "merge_check",
];

/** Of the audit, because the read model has dropped them with the project. */
async function webhooksEver(db: Knex, projectId: string): Promise<readonly string[]> {
  const streams = await db<AuditEntryRow>("audit_entry")
    .where({ place_id: projectId, type: "WebhookCreated" })
    .pluck("stream");
  return streams.map(idInStream);
}

/**
 * Ends a deleted project: first in the log, where a restore at the same moment wins or loses, and then
 * what is kept beside it: repository, secrets, work in flight. Read models drop their rows by the event,
 * and blobs go when nothing refers to them any more. Every step may be repeated. Forks share nothing
 * with it and stay whole.
 */
export const projectPurgeWorker = defineWorker({
  queue,
  concurrency: 1,
  payload: z.object({ projectId: ProjectId }),
  async run({ projectId }, deps) {
    const { store, db, git, vault } = deps;
    const at = deps.now().toISOString();
    const deletedBefore = limitOf(deps).toISOString();
    const command = { type: "PurgeProject", projectId, deletedBefore, at } as const;
    const metadata = purgeMetadata(projectId, at);
    await handle(store, project, { id: projectId, command, metadata });
    if ((await currentState(store, project, projectId)).status !== "purged") return;
    await releaseOldProjectNames({ store, now: () => at }, projectId, metadata);
    await git.remove(projectId);
    await vault.forget(projectSubject(projectId));
    for (const table of kept) await db(table).where({ project_id: projectId }).delete();
    await dropSnapshots(db, projectId);
    const webhookIds = await webhooksEver(db, projectId);
    for (const table of ["webhook_outbox", "webhook_health"]) {
      await db(table).whereIn("webhook_id", webhookIds).delete();
    }
  },
});

function purgeMetadata(projectId: string, occurredAt: string) {
  const commandId = deterministicId("purge", projectId, occurredAt);
  return bySystem({ commandId, correlationId: `purge-${projectId}` }, occurredAt);
}
