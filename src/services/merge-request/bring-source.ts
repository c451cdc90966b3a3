import type { EventMetadata } from "../../events/core/event.ts";
import { copyCommits, packedBytes, sharedHeads } from "../../git/copy-commits.ts";
import type { Repository } from "../../git/repository.ts";
import { holding, type Room } from "../../platform/blob/room.ts";
import { keyedLock } from "../../platform/keyed-lock.ts";
import { Refusal } from "../../platform/refusal.ts";
import { inheritLfsObjects } from "../git/lfs-inheritance.ts";
import { accountOf, isFull, type SourceAccount } from "./source-account.ts";
import { type Objects, objectsFor, withoutOwn } from "./source-lfs.ts";
import { type Refusals, refusalsOf } from "./source-refused.ts";
import type { Brought, SourceDeps } from "./source-subject.ts";

/** What has come with a request. */
export type Came = Readonly<{
  /** Of the target. */
  repository: Repository;
  /** As far as it counts for the author. */
  broughtBytes?: number;
}>;

/** What is done around it, in this order: the commits, `open`, the LFS objects, `keep`. */
export type Around<Opened> = Readonly<{
  /** May refuse; no LFS objects are given then. */
  open: (came: Came) => Promise<Opened>;
  /** Returns the log position that shows all of it. */
  keep: (opened: Opened, came: Came) => Promise<bigint | undefined>;
}>;

/** By target, within this process: requests that come at once shall not give it the same LFS objects. */
const inTurn = keyedLock();

/**
 * Brings the commits of the source into the repository of the target, and gives the target the LFS objects that they
 * point to. Room for both is held from before the first byte until they are counted.
 *
 * @throws Refusal 404 `branch.not_found` when a repository is not there, 422 `project.full`, `user.full`,
 *   `merge_request.history_too_long`, and what `open` refuses
 */
export async function bringSource<Opened>(
  deps: SourceDeps,
  brought: Brought,
  metadata: EventMetadata,
  around: Around<Opened>,
): Promise<Opened> {
  const { sourceProjectId, target, sourceCommit } = brought;
  const [from, to] = [await deps.git.find(sourceProjectId), await deps.git.find(target.id)];
  if (from === undefined || to === undefined) {
    throw new Refusal("not_found", "branch.not_found", "One of the projects has no branches.");
  }
  if (sourceProjectId === target.id) {
    const opened = await around.open({ repository: to });
    await deps.visible(await around.keep(opened, { repository: to }));
    return opened;
  }
  const account = await accountOf(deps, brought);
  const refusals = refusalsOf(brought, account);
  await refusals.mustBeWorthwhile();
  const known = await sharedHeads(from, to, brought.previousCommit);
  const sides = { repository: from, known };
  const objects = await objectsFor(brought, sides, refusals, deps);
  const isThere = (await to.objects.info(sourceCommit)) !== undefined;
  const carry = async (missing: Objects): Promise<Opened> => {
    const lfsBytes = [...missing.values()].reduce((sum, each) => sum + each, 0);
    const expected = isThere
      ? 0
      : await packedBytes(from, [sourceCommit, ...known.map((id) => `^${id}`)]);
    const copy = async (room: Room): Promise<number> => {
      if (lfsBytes > 0) await reach(room, lfsBytes, "The LFS objects are more", refusals);
      if (isThere) return lfsBytes;
      const more = (bytes: number) =>
        reach(room, lfsBytes + bytes, "The commits are more", refusals);
      // All of it at once: of two that grow beside one another neither may find enough.
      await more(expected);
      return lfsBytes + (await copyCommits(from, to, { commitId: sourceCommit, known }, more));
    };
    return await holding(account.room(lfsBytes + expected), async (room) => {
      const bytes = await copy(room);
      await room.settle(bytes);
      const came = cameWith(to, account, bytes);
      const opened = await around.open(came);
      const between = { fromProjectId: sourceProjectId, projectId: target.id };
      const given = await inheritLfsObjects(between, missing, metadata, deps);
      const kept = await around.keep(opened, came);
      // The room is given back when both count: either may be the later one.
      await deps.visible(given);
      await deps.visible(kept);
      return opened;
    });
  };
  if (objects.size === 0) return await carry(objects);
  return await inTurn(target.id, async () => carry(await withoutOwn(deps.db, target.id, objects)));
}

const cameWith = (repository: Repository, { isAuthors }: SourceAccount, bytes: number): Came => ({
  repository,
  ...(isAuthors && bytes > 0 && { broughtBytes: bytes }),
});

async function reach(room: Room, bytes: number, what: string, refusals: Refusals): Promise<void> {
  await room.reach(bytes).catch((error: unknown) => {
    throw isFull(error) ? refusals.noRoom(what, bytes) : error;
  });
}
