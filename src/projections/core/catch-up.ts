import { setTimeout as delay } from "node:timers/promises";

import type { Recorded } from "../../events/core/event.ts";
import { type CheckpointRow, readAfter, readCheckpoints } from "./checkpoint.ts";
import { type FeedDeps, failedBy, stop } from "./feed.ts";
import { liveSchema } from "./install.ts";
import { join } from "./join.ts";
import { applyAfter, type Projection } from "./projection.ts";
import { rebuild } from "./rebuild.ts";
import { brief, mayPass } from "./retry.ts";
import { wholeLog } from "./whole-log.ts";

const pageEventsMax = 500;
const lookMs = 1_000;

export type CatchUpDeps = FeedDeps & Readonly<{ databaseUrl: string }>;

/**
 * Brings up to the live ones, again and again, the projections that are behind, beside the subscription, so that the
 * live ones need not wait: those of another version are built again, the others continue from their checkpoint. Ends
 * when the signal aborts.
 */
export async function keepBringingUp(deps: CatchUpDeps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await bringUp(deps, signal);
    } catch (error) {
      if (signal.aborted) break;
      await afterFailure(deps, error);
    }
    await delay(lookMs, undefined, { signal }).catch(() => undefined);
  }
}

async function bringUp(deps: CatchUpDeps, signal: AbortSignal): Promise<void> {
  const rows = new Map((await readCheckpoints(deps.db)).map((row) => [row.name, row]));
  const behind = deps.projections.filter(({ name }) => rows.get(name)?.state === "behind");
  const sameVersion = ({ name, version }: Projection) => rows.get(name)?.version === version;

  for (const projection of behind.filter(sameVersion)) await catchUp(deps, projection, signal);
  const outdated = behind.filter((projection) => !sameVersion(projection));
  if (outdated.length > 0) await rebuild(deps, outdated, { signal });
}

async function afterFailure(deps: CatchUpDeps, error: unknown): Promise<void> {
  const failed = failedBy(error, deps);
  if (failed !== undefined) {
    await stop(deps, failed, error).catch(() => undefined);
    return;
  }
  const level = mayPass(error) ? "warn" : "error";
  deps.log[level]({ err: brief(error) }, "catching up was interrupted");
}

/** In its own tables, page by page from its checkpoint. */
async function catchUp(
  deps: CatchUpDeps,
  projection: Projection,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const position = await applyNextPage(deps, projection);
    if (position === undefined) return;
    if (await join(deps, projection, { schema: liveSchema, position })) return;
  }
}

/** @returns where it is then; undefined when it is not behind any more */
async function applyNextPage(
  { db, store, context }: CatchUpDeps,
  projection: Projection,
): Promise<bigint | undefined> {
  const { name } = projection;
  const stored = await db<CheckpointRow>("projection_progress").where({ name }).first();
  if (stored?.state !== "behind") return undefined;
  const after = stored.position;
  const page: Recorded[] = [];
  const options = { ...(await wholeLog(db)), ...readAfter(after), countMax: pageEventsMax };
  for await (const event of store.readAll(options)) page.push(event);
  const position = page.at(-1)?.position ?? after;
  return db.transaction(async (tx) => {
    await tx.raw("set local synchronous_commit = off");
    // Another process may have led meanwhile.
    const unmoved = { name, state: "behind", position: after };
    const moved = await tx("projection_checkpoint").where(unmoved).update({ position });
    if (moved === 0) return undefined;
    await applyAfter(tx, projection, after, page, context);
    return position;
  });
}
