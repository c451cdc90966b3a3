import type { Knex } from "knex";

import { LfsOid } from "../../events/core/ids.ts";
import type { Repository } from "../../git/repository.ts";
import { Limit } from "../../platform/limit.ts";
import { timeoutSignal } from "../../platform/time/timeout-signal.ts";
import { findLfsObjects } from "../../projections/git/lfs-object.ts";
import { lfsObjectsToInherit } from "../git/lfs-inheritance.ts";
import type { Refusals } from "./source-refused.ts";
import type { Brought, SourceDeps } from "./source-subject.ts";

export type Objects = ReadonlyMap<LfsOid, number>;

const looksAtOnce = 2;
const lookMs = 60_000;
const oidsAtOnce = 500;

const looks = new Limit({
  name: "lfs.looks",
  total: looksAtOnce,
  whenFull: "wait",
  keepsTurn: true,
});

/**
 * The LFS objects of the source that its commits point to, without those that the target has.
 *
 * @param sides repository of the source, and commits that the target has on its branches
 * @throws Refusal 422 `merge_request.history_too_long`
 */
export async function objectsFor(
  { sourceProjectId, target, sourceCommit }: Brought,
  { repository, known }: Readonly<{ repository: Repository; known: readonly string[] }>,
  refusals: Refusals,
  deps: SourceDeps,
): Promise<Objects> {
  return await looks.run(async () => {
    const signal = timeoutSignal(lookMs);
    const between = { fromProjectId: sourceProjectId, projectId: target.id };
    const of = { tips: [sourceCommit], without: known, signal };
    try {
      return await lfsObjectsToInherit({ ...between, repository, of }, deps);
    } catch (error) {
      throw signal.aborted ? refusals.tooLong() : error;
    }
  });
}

/** What another request has given meanwhile is not counted twice. */
export async function withoutOwn(db: Knex, projectId: string, objects: Objects): Promise<Objects> {
  const missing = new Map(objects);
  const oids = [...objects.keys()];
  for (let first = 0; first < oids.length; first += oidsAtOnce) {
    const own = await findLfsObjects(db, projectId, oids.slice(first, first + oidsAtOnce));
    for (const oid of own.keys()) missing.delete(LfsOid.parse(oid));
  }
  return missing;
}
