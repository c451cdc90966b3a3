import { createHash } from "node:crypto";
import type { Knex } from "knex";

import { handle } from "../../commands/core/handle.ts";
import { lfsObject } from "../../commands/git/lfs-object.ts";
import type { EventMetadata } from "../../events/core/event.ts";
import { LfsOid, ProjectId } from "../../events/core/ids.ts";
import { lfsInheritanceId, lfsInheritedMax } from "../../events/git/lfs-object.ts";
import { type LfsFilesOf, lfsFiles } from "../../git/lfs-files.ts";
import type { Repository } from "../../git/repository.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import { findLfsObjects, hasLfsObjects } from "../../projections/git/lfs-object.ts";

type Deps = Readonly<{ store: EventStore; db: Knex; now: () => Date }>;

type Objects = ReadonlyMap<LfsOid, number>;

export type LfsInheritance = Readonly<{
  fromProjectId: string;
  projectId: string;
  /** Where the commits are by now. */
  repository: Repository;
  of: LfsFilesOf;
}>;

/**
 * The LFS objects, with their bytes, that commits point to, that one project has and another has not. What no commit
 * points to is left out: readers of the other project could get it by its id alone.
 *
 * @throws GitFailure when an object of git is missing
 */
export async function lfsObjectsToInherit(
  { fromProjectId, projectId, repository, of }: LfsInheritance,
  { db }: Pick<Deps, "db">,
): Promise<Objects> {
  const found = new Map<LfsOid, number>();
  if (!(await hasLfsObjects(db, fromProjectId))) return found;
  for await (const files of lfsFiles(repository, of)) {
    const oids = [...new Set(files.map(({ oid }) => oid))];
    const [there, own] = await Promise.all([
      findLfsObjects(db, fromProjectId, oids),
      findLfsObjects(db, projectId, oids),
    ]);
    for (const { oid, bytes } of there.values()) {
      if (!own.has(oid)) found.set(LfsOid.parse(oid), Number(bytes));
    }
  }
  return found;
}

/**
 * Gives them to the other project. The same objects are given once, however often this is done.
 *
 * @returns the log position that shows them; undefined when there are none
 */
export async function inheritLfsObjects(
  { fromProjectId: from, projectId: to }: Pick<LfsInheritance, "fromProjectId" | "projectId">,
  objects: Objects,
  metadata: EventMetadata,
  { store, now }: Deps,
): Promise<bigint | undefined> {
  const [projectId, fromProjectId] = [ProjectId.parse(to), ProjectId.parse(from)];
  const all = [...objects].map(([oid, bytes]) => ({ oid, bytes }));
  all.sort((a, b) => (a.oid < b.oid ? -1 : 1));
  let position: bigint | undefined;
  for (let first = 0; first < all.length; first += lfsInheritedMax) {
    const some = all.slice(first, first + lfsInheritedMax);
    const hash = createHash("sha256").update(from);
    for (const { oid } of some) hash.update(oid);
    const id = lfsInheritanceId(projectId, hash.digest("hex"));
    const at = now().toISOString();
    const command = {
      type: "InheritLfsObjects",
      projectId,
      fromProjectId,
      objects: some,
      at,
    } as const;
    ({ position } = await handle(store, lfsObject, { id, command, metadata }));
  }
  return position;
}
