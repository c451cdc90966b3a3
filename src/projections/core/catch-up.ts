import { setTimeout as delay } from "node:timers/promises";
import type { Recorded } from "../../events/core/event.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import { type CheckpointRow, readCheckpoints } from "./checkpoint.ts";
import { type FeedDeps, readAfter, stop } from "./feed.ts";
import { liveSchema } from "./install.ts";
import { join } from "./join.ts";
import { CannotApply, type Projection, project } from "./projection.ts";
import { rebuild } from "./rebuild.ts";
import { brief, mayPass } from "./retry.ts";

const pageEventsMax = 500;
const lookMs = 1_000;

export type CatchUpDeps = FeedDeps & Readonly<{ databaseUrl: string }>;

/**
 * Brings what is behind up to the live projections, beside the subscription, so that these need not
 * wait: those of another version are built again, the others continue from their checkpoint.
 * Ends when the signal aborts.
 */
export async function tend(deps: CatchUpDeps, signal: AbortSignal): Promise<void> {
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
  const failed =
    error instanceof CannotApply
      ? deps.projections.find(({ name }) => name === error.projection)
      : undefined;
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
  const { db, store, context } = deps;
  for (;;) {
    signal.throwIfAborted();
    const row = await db<CheckpointRow>("projection_progress")
      .where({ name: projection.name })
      .first();
    if (row?.state !== "behind") return;
    const page = await readPage(store, row.position);
    await project(db, projection, page, context, "behind");
    const position = page.at(-1)?.position ?? row.position;
    if (page.length === pageEventsMax) continue;
    if (await join(deps, projection, { schema: liveSchema, position })) return;
  }
}

async function readPage(store: EventStore, position: bigint): Promise<readonly Recorded[]> {
  const page: Recorded[] = [];
  const options = { ...readAfter(position), countMax: pageEventsMax };
  for await (const event of store.readAll(options)) page.push(event);
  return page;
}
