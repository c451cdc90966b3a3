import { z } from "zod";

import { sweepContainers } from "../../platform/container/upload.ts";
import { missingReferences, referredBlobs } from "../../projections/git/blob-reference.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import { defineWorker } from "../core/worker.ts";

const queue = "blob-collection";
/** The whole store is looked through this often. */
const everyMs = 6 * 60 * 60_000;
/** Younger than this a blob may belong to an upload that holds it no more and shows in a moment. */
const ageMinMs = 60 * 60_000;
/** No upload takes longer. */
const leftOverMs = 24 * 60 * 60_000;
const atOnce = 500;

/** Adds the job of this stretch of time, once. */
export async function sweepBlobs({ queues, now }: Pick<WorkerDeps, "queues" | "now">) {
  const round = Math.floor(now().getTime() / everyMs);
  await queues.add([{ queue, id: `${queue}-${round}`, data: {} }]);
}

/**
 * Removes what nothing refers to any more, and what dead processes left half-way. The read models say
 * what is referred to, so they come to the end of the log first; while one of them does not, nothing is
 * removed. May stop and begin again anywhere.
 */
export const blobCollectionWorker = defineWorker({
  queue,
  concurrency: 1,
  payload: z.object({}),
  async run(_payload, deps, signal) {
    const { blobs, store, visible, now, log } = deps;
    const head = (await store.head()) ?? -1n;
    await visible(head);
    const missing = await missingReferences(deps.db, head);
    if (missing.length > 0) {
      log.warn(
        { missing },
        "no blob is removed while read models that refer to them are not current",
      );
      return;
    }
    await sweepContainers(deps.db);
    await sweepProxies(deps.db);
    await blobs.sweep(new Date(now().getTime() - leftOverMs));
    const removed = { blobs: 0 };
    let batch: string[] = [];
    for await (const digest of blobs.list(new Date(now().getTime() - ageMinMs))) {
      signal.throwIfAborted();
      batch.push(digest);
      if (batch.length < atOnce) continue;
      removed.blobs += await collect(batch, head, deps);
      batch = [];
    }
    removed.blobs += await collect(batch, head, deps);
    if (removed.blobs > 0) log.info(removed, "blobs removed that nothing referred to");
  },
});

/** Drops cached content of proxies that no client requested for so long, or whose proxy is deleted. */
async function sweepProxies(db: WorkerDeps["db"]): Promise<void> {
  await db.raw(`
    delete from public.proxy_content as content
    where not exists (
      select from registry_repository as repository
      where repository.id::text = content.repository_id and (
        coalesce((repository.settings ->> 'expireHours')::int, 0) = 0 or
        content.used_at > now() - make_interval(hours => (repository.settings ->> 'expireHours')::int)
      )
    )
  `);
}

async function collect(
  digests: readonly string[],
  head: bigint,
  { blobs, db }: Pick<WorkerDeps, "blobs" | "db">,
): Promise<number> {
  const referred = await referredBlobs(db, digests);
  let removed = 0;
  for (const digest of digests) {
    if (referred.has(digest)) continue;
    // Read last: tables that are built again may have been empty when they were read.
    const still = async () =>
      (await referredBlobs(db, [digest])).has(digest) ||
      (await missingReferences(db, head)).length > 0;
    if (await blobs.removeUnless(digest, still)) removed += 1;
  }
  return removed;
}
