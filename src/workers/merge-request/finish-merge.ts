import { handle } from "../../commands/core/handle.ts";
import { mergeRequest } from "../../commands/merge-request/merge-request.ts";
import type { BegunMerge } from "../../commands/merge-request/merge-request-state.ts";
import { releasePair } from "../../commands/merge-request/pair.ts";
import { decode } from "../../events/core/decode.ts";
import type { EventMetadata } from "../../events/core/event.ts";
import {
  mergeRefOf,
  mergeRequestEvents,
  mergeRequestStream,
} from "../../events/merge-request/merge-request.ts";
import { branchPrefix } from "../../events/repository/repository.ts";
import { changeRefs, type RefChangeDeps } from "../../git/ref-change.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { keepRef } from "../../platform/git/kept-ref.ts";
import { Refusal } from "../../platform/refusal.ts";
import {
  findMergeRequestById,
  openMergeRequestsFrom,
} from "../../projections/merge-request/merge-request-query.ts";
import type { MergeRequestRow } from "../../projections/merge-request/merge-request-row.ts";
import { findProjectById } from "../../projections/project/project.ts";
import { reaches } from "../../projections/protection/applicable.ts";
import { findRef } from "../../projections/repository/git-ref.ts";
import { projectRole } from "../../projections/team/member-role.ts";

type Begun = Readonly<{ merge: BegunMerge; metadata: EventMetadata }>;

/**
 * Does what follows from a target branch that was moved: records the merge, keeps its commit, gives the pair
 * of branches back, removes the source branch where that was asked for. Each step may be repeated.
 */
export async function finishMerge(
  deps: RefChangeDeps,
  mergeRequestId: string,
  mergeId: string,
): Promise<void> {
  const { store, db, visible } = deps;
  const begun = await begunMerge(deps, mergeRequestId, mergeId);
  if (begun === undefined) return;
  const { merge, metadata } = begun;
  const at = deps.now().toISOString();
  const recording = { ...metadata, commandId: deterministicId(mergeId, "record") };
  const command = { type: "RecordMerge", mergeId, at } as const;
  const order = { id: mergeRequestId, command, metadata: recording };
  const { position } = await handle(store, mergeRequest, order);
  const row = await findMergeRequestById(db, mergeRequestId);
  if (row === undefined) return;
  const repository = await deps.git.find(row.project_id);
  const pair = {
    projectId: row.project_id,
    targetBranch: row.target_branch,
    sourceProjectId: row.source_project_id,
    sourceBranch: row.source_branch,
  };
  await Promise.all([
    visible(position),
    repository && keepRef(repository, mergeRefOf(row.local_id), merge.mergeCommit),
    releasePair({ store, now: () => at }, row.id, pair, metadata),
  ]);
  if (merge.removeSourceBranch) await removeSource(deps, row, begun);
}

async function begunMerge(
  { store }: RefChangeDeps,
  mergeRequestId: string,
  mergeId: string,
): Promise<Begun | undefined> {
  for await (const recorded of store.readStreamBackwards(mergeRequestStream(mergeRequestId))) {
    const { type, data } = decode(mergeRequestEvents, recorded);
    if (type !== "MergeRequestMergeBegun" || data.mergeId !== mergeId) continue;
    return { merge: data, metadata: recorded.metadata };
  }
  return undefined;
}

/** In the name of who merged. Stays where somebody pushed meanwhile, needs it, or a rule forbids it. */
async function removeSource(
  deps: RefChangeDeps,
  row: MergeRequestRow,
  { merge, metadata }: Begun,
): Promise<void> {
  const { db } = deps;
  const project = await findProjectById(db, row.source_project_id);
  if (project === undefined || row.source_branch === project.default_branch) return;
  const branch = await findRef(db, project.id, "branch", row.source_branch);
  if (branch?.object_id !== merge.sourceCommit) return;
  const role = await projectRole(db, project, merge.begunById);
  if (role === undefined || !reaches(role, "DEVELOPER")) return;
  const source = { projectId: project.id, branch: row.source_branch };
  if ((await openMergeRequestsFrom(db, source)).some(({ id }) => id !== row.id)) return;
  const ref = branchPrefix + row.source_branch;
  const plan = async () => [{ ref, before: merge.sourceCommit, after: null }];
  const own = { ...metadata, commandId: deterministicId(merge.mergeId, "remove source") };
  try {
    await deps.visible((await changeRefs(deps, { project, role, plan, metadata: own })).position);
  } catch (error) {
    // The branch is protected, or was changed at this instant: it stays.
    if (!(error instanceof Refusal)) throw error;
    deps.log.info(
      { projectId: project.id, ref, code: error.code },
      "source branch was not removed",
    );
  }
}
