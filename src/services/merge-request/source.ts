import { randomUUID } from "node:crypto";
import type { Knex } from "knex";

import { handle } from "../../commands/core/handle.ts";
import { mergeRequest } from "../../commands/merge-request/merge-request.ts";
import { ObjectId } from "../../events/core/ids.ts";
import { bySystem } from "../../events/core/system.ts";
import { headRefOf } from "../../events/merge-request/merge-request.ts";
import { readServiceRef, ServiceRefMoved, setServiceRef } from "../../git/service-ref.ts";
import { keyedLock } from "../../platform/keyed-lock.ts";
import { hasLfsObjects } from "../../projections/git/lfs-object.ts";
import { approvalConfigurationOf } from "../../projections/merge-request/approval-rule.ts";
import { findMergeRequestById } from "../../projections/merge-request/merge-request-query.ts";
import type { MergeRequestRow } from "../../projections/merge-request/merge-request-row.ts";
import { findProjectById, type ProjectRow } from "../../projections/project/project.ts";
import { reaches } from "../../projections/protection/applicable.ts";
import { findRef } from "../../projections/repository/git-ref.ts";
import { actingRole } from "../../projections/team/acting-role.ts";
import { bringSource } from "./bring-source.ts";
import { isFull } from "./source-account.ts";
import type { SourceDeps } from "./source-subject.ts";

/** Within this process; what another process does at the same time is seen by the ref. */
const inTurn = keyedLock();
const attemptsMax = 5;

/**
 * Brings what the source branch holds now into the request, if it is open: the commits, the ref
 * that keeps them, the event. A branch that is gone leaves the request as it is, and so does another project while the
 * author may not bring its commits.
 *
 * @returns the request as it is then
 * @throws Refusal 422 `project.full`, `user.full`
 */
export async function withNewestSource(
  deps: SourceDeps,
  row: MergeRequestRow,
): Promise<MergeRequestRow> {
  if ((await sourceHead(deps.db, row)) === row.source_commit) return row;
  return inTurn(row.id, async () => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await bringNewest(deps, row);
      } catch (error) {
        if (!(error instanceof ServiceRefMoved) || attempt === attemptsMax) throw error;
      }
    }
  });
}

/** @throws ServiceRefMoved when another process brought a version meanwhile */
async function bringNewest(deps: SourceDeps, row: MergeRequestRow): Promise<MergeRequestRow> {
  const ref = headRefOf(row.local_id);
  const kept = await deps.git.find(row.project_id);
  // Read before the version is chosen, so that an older version never takes the place of a newer one.
  const before = kept === undefined ? null : await readServiceRef(kept, ref);
  const current = (await findMergeRequestById(deps.db, row.id)) ?? row;
  const head = await sourceHead(deps.db, current);
  if (head === current.source_commit) return current;
  const target = await findProjectById(deps.db, current.project_id);
  if (target === undefined) return current;
  const sourceCommit = ObjectId.parse(head);
  const brought = {
    sourceProjectId: current.source_project_id,
    target,
    authorId: current.author_id,
    sourceCommit,
    previousCommit: current.source_commit,
  };
  const metadata = bySystem({ commandId: randomUUID() }, deps.now().toISOString());
  await bringSource(deps, brought, metadata, {
    open: async () => undefined,
    async keep(_, { repository, ...came }) {
      await setServiceRef(repository, ref, sourceCommit, before);
      return await recordMove(deps, current, target, { sourceCommit, ...came });
    },
  });
  return (await findMergeRequestById(deps.db, row.id)) ?? current;
}

/**
 * The same for readers. Never looks through commits for LFS objects: where the source has any, the worker
 * brings them with the commits. Where it finds no room, the request is shown as it is.
 */
export async function withNewestSourceShown(
  deps: SourceDeps,
  row: MergeRequestRow,
): Promise<MergeRequestRow> {
  if ((await sourceHead(deps.db, row)) === row.source_commit) return row;
  const isOther = row.source_project_id !== row.project_id;
  if (isOther && (await hasLfsObjects(deps.db, row.source_project_id))) return row;
  try {
    return await withNewestSource(deps, row);
  } catch (error) {
    if (isFull(error)) return row;
    throw error;
  }
}

/** Where the branch stands; what the request has where it is not open or the branch is gone. */
async function sourceHead(db: Knex, row: MergeRequestRow): Promise<string> {
  if (row.status !== "OPENED") return row.source_commit;
  const ref = await findRef(db, row.source_project_id, "branch", row.source_branch);
  // The branches of a deleted project stay until it is purged.
  const isGone = ref === undefined || !(await findProjectById(db, row.source_project_id));
  if (isGone || ref.object_id === row.source_commit) return row.source_commit;
  return (await mayBring(db, row)) ? ref.object_id : row.source_commit;
}

/**
 * Between two projects a version comes only while the author may open such a request: a fork shall not write into a
 * target that its people lost, nor a target take what its people may not read. What is public anybody may bring.
 * Read after the branch: what was pushed after the author lost the role is never taken over.
 */
async function mayBring(db: Knex, row: MergeRequestRow): Promise<boolean> {
  if (row.source_project_id === row.project_id) return true;
  const source = await findProjectById(db, row.source_project_id);
  const target = await findProjectById(db, row.project_id);
  if (source === undefined || target === undefined) return false;
  const [inSource, inTarget] = await Promise.all([
    actingRole(db, source, row.author_id),
    actingRole(db, target, row.author_id),
  ]);
  if (inSource === undefined || inTarget === undefined) return false;
  return !source.is_private || reaches(inSource, "DEVELOPER");
}

async function recordMove(
  { store, db, now }: SourceDeps,
  { id }: MergeRequestRow,
  target: ProjectRow,
  moved: Readonly<{ sourceCommit: ObjectId; broughtBytes?: number }>,
): Promise<bigint | undefined> {
  const { removeApprovalsOnPush } = await approvalConfigurationOf(db, { project: target });
  const at = now().toISOString();
  // The branch may come back to a commit that it had before, so the commit does not name the step.
  const metadata = bySystem({ commandId: randomUUID() }, at);
  const type = "RecordSourceMove";
  const command = { type, ...moved, removesApprovals: removeApprovalsOnPush, at } as const;
  return (await handle(store, mergeRequest, { id, command, metadata })).position;
}
