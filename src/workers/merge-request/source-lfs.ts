import type { Knex } from "knex";

import type { EventMetadata } from "../../events/core/event.ts";
import { LfsOid } from "../../events/core/ids.ts";
import { inheritLfsObjects, lfsObjectsToInherit } from "../../git/lfs-inheritance.ts";
import { BoundedCache } from "../../platform/bounded-cache.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import type { GitRepositories } from "../../platform/git/repositories.ts";
import type { Repository } from "../../platform/git/repository.ts";
import { keyedLock } from "../../platform/keyed-lock.ts";
import { Limit } from "../../platform/limit.ts";
import { Refusal } from "../../platform/refusal.ts";
import { timeoutSignal } from "../../platform/time/timeout-signal.ts";
import { findLfsObjects } from "../../projections/git/lfs-object.ts";
import type { ProjectRow } from "../../projections/project/project.ts";
import { projectBytesLeft } from "../../projections/project/repository-size.ts";

/** What it takes to bring the newest source into a request. */
export type SourceDeps = Readonly<{
  store: EventStore;
  db: Knex;
  git: GitRepositories;
  config: Readonly<{ projectBytesMax: number | null }>;
  visible: (position: bigint | undefined) => Promise<void>;
  now: () => Date;
}>;

export type Brought = Readonly<{
  sourceProjectId: string;
  target: ProjectRow;
  /** Of the target. */
  repository: Repository;
  sourceCommit: string;
}>;

/** What is done around it, in this order: `open`, the objects, `keep`. */
export type Around<Opened> = Readonly<{
  /** May refuse; nothing is given then. */
  open: () => Promise<Opened>;
  keep: (opened: Opened) => Promise<void>;
}>;

type Objects = ReadonlyMap<LfsOid, number>;
/** Bytes that found no room; undefined: looking took too long, before this time of `performance.now()`. */
type Refused = Readonly<{ bytes: number } | { bytes: undefined; until: number }>;

const looksAtOnce = 2;
const lookMs = 60_000;
const tooLongMs = 10 * 60_000;
const refusedBytes = 250;
const refusedMax = 1_000;
const oidsAtOnce = 500;

const looks = new Limit({
  name: "lfs.looks",
  total: looksAtOnce,
  whenFull: "wait",
  keepsTurn: true,
});
/** By target, within this process: those who come at once shall not all find the same room. */
const inTurn = keyedLock();
/** By target, source and commit: what was refused is not looked through again while nothing is better. */
const refused = new BoundedCache<Refused>(refusedMax * refusedBytes);

/**
 * Gives the target the LFS objects of the source that commits point to which no ref of the target reaches yet. `keep`
 * makes the ref that keeps the commits, so what was interrupted before is found again.
 *
 * @throws Refusal 422 `project.full`, `merge_request.history_too_long`, and what `open` refuses
 */
export async function bringLfsObjects<Opened>(
  deps: SourceDeps,
  brought: Brought,
  metadata: EventMetadata,
  { open, keep }: Around<Opened>,
): Promise<Opened> {
  const { sourceProjectId: fromProjectId, target } = brought;
  const objects = fromProjectId === target.id ? new Map() : await objectsFor(brought, deps);
  const plainly = async (): Promise<Opened> => {
    const opened = await open();
    await keep(opened);
    return opened;
  };
  if (objects.size === 0) return await plainly();
  return await inTurn(target.id, async () => {
    const missing = await withoutOwn(deps.db, target.id, objects);
    await mustFit(missing, brought, deps);
    const opened = await open();
    const between = { fromProjectId, projectId: target.id };
    const position = await inheritLfsObjects(between, missing, metadata, deps);
    await keep(opened);
    // The next caller measures with them.
    await deps.visible(position);
    return opened;
  });
}

const keyOf = ({ sourceProjectId, target, sourceCommit }: Brought): string =>
  `${target.id} ${sourceProjectId} ${sourceCommit}`;

async function objectsFor(brought: Brought, deps: SourceDeps): Promise<Objects> {
  const { sourceProjectId, target, repository, sourceCommit } = brought;
  const before = refused.get(keyOf(brought));
  if (before?.bytes !== undefined && before.bytes > (await projectBytesLeft(deps)(target))) {
    throw noRoom();
  }
  if (before !== undefined && before.bytes === undefined && before.until > performance.now()) {
    throw tooLong();
  }
  refused.delete(keyOf(brought));
  return await looks.run(async () => {
    const signal = timeoutSignal(lookMs);
    const between = { fromProjectId: sourceProjectId, projectId: target.id };
    const of = { tips: [sourceCommit], notInRefs: true, signal };
    try {
      return await lfsObjectsToInherit({ ...between, repository, of }, deps);
    } catch (error) {
      if (!signal.aborted) throw error;
      remember(brought, { bytes: undefined, until: performance.now() + tooLongMs });
      throw tooLong();
    }
  });
}

/** What another request has given meanwhile is not counted twice. */
async function withoutOwn(db: Knex, projectId: string, objects: Objects): Promise<Objects> {
  const missing = new Map(objects);
  const oids = [...objects.keys()];
  for (let first = 0; first < oids.length; first += oidsAtOnce) {
    const own = await findLfsObjects(db, projectId, oids.slice(first, first + oidsAtOnce));
    for (const oid of own.keys()) missing.delete(LfsOid.parse(oid));
  }
  return missing;
}

/** @throws Refusal 422 `project.full` */
async function mustFit(objects: Objects, brought: Brought, deps: SourceDeps): Promise<void> {
  const bytes = [...objects.values()].reduce((sum, each) => sum + each, 0);
  if (bytes <= (await projectBytesLeft(deps)(brought.target))) return;
  remember(brought, { bytes });
  throw noRoom();
}

function remember(brought: Brought, what: Refused): void {
  refused.set(keyOf(brought), what, refusedBytes);
}

function noRoom(): Refusal {
  const message = "The LFS objects are more than the target project may still take.";
  return new Refusal("unprocessable", "project.full", message);
}

function tooLong(): Refusal {
  const message = "It takes too long to look for LFS objects in so many commits.";
  return new Refusal("unprocessable", "merge_request.history_too_long", message);
}
