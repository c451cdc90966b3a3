import { handle, type LoadedState } from "../../commands/core/handle.ts";
import { mergeRequest } from "../../commands/merge-request/merge-request.ts";
import type {
  BegunMerge,
  MergeRequestState,
} from "../../commands/merge-request/merge-request-state.ts";
import { releasePair } from "../../commands/merge-request/pair.ts";
import { decode } from "../../events/core/decode.ts";
import type { EventMetadata } from "../../events/core/event.ts";
import {
  mergeRefOf,
  mergeRequestEvents,
  mergeRequestStream,
} from "../../events/merge-request/merge-request.ts";
import { branchPrefix } from "../../events/repository/repository.ts";
import { setServiceRef } from "../../git/service-ref.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { Refusal } from "../../platform/refusal.ts";
import {
  findMergeRequestById,
  openMergeRequestsFrom,
} from "../../projections/merge-request/merge-request-query.ts";
import type { MergeRequestRow } from "../../projections/merge-request/merge-request-row.ts";
import { findProjectById } from "../../projections/project/project.ts";
import { reaches } from "../../projections/protection/applicable.ts";
import { findRef } from "../../projections/repository/git-ref.ts";
import { actingRole } from "../../projections/team/acting-role.ts";
import { changeRefs, type RefChangeDeps } from "../git/ref-change.ts";

export type Begun = Readonly<{ merge: BegunMerge; metadata: EventMetadata }>;

/** Carries out the consequences of a moved target branch, also when another process moved it. */
export async function finishMerge(
  deps: RefChangeDeps,
  mergeRequestId: string,
  mergeId: string,
): Promise<void> {
  const begun = await begunMerge(deps, mergeRequestId, mergeId);
  if (begun === undefined) return;
  const position = await record(deps, mergeRequestId, begun);
  const row = await findMergeRequestById(deps.db, mergeRequestId);
  if (row !== undefined) await complete(deps, row, begun, position);
}

/** The same by the process that moved it a moment ago. */
export async function finishOwnMerge(
  deps: RefChangeDeps,
  row: MergeRequestRow,
  begun: Begun,
  known: LoadedState<MergeRequestState>,
): Promise<void> {
  await complete(deps, row, begun, await record(deps, row.id, begun, known));
}

async function record(
  { store, now }: RefChangeDeps,
  id: string,
  { merge: { mergeId }, metadata }: Begun,
  known?: LoadedState<MergeRequestState>,
): Promise<bigint | undefined> {
  const own = { ...metadata, commandId: deterministicId(mergeId, "record") };
  const command = { type: "RecordMerge", mergeId, at: now().toISOString() } as const;
  return (await handle(store, mergeRequest, { id, command, metadata: own }, known)).position;
}

/** What follows from a merge, and the removal of the source branch where that was requested. */
async function complete(
  deps: RefChangeDeps,
  row: MergeRequestRow,
  begun: Begun,
  position: bigint | undefined,
): Promise<void> {
  const { merge, metadata } = begun;
  await keepMerge(deps, row, { mergeCommit: merge.mergeCommit, metadata }, position);
  if (merge.removeSourceBranch) await removeSource(deps, row, begun);
}

/** Keeps the commit of the merge, and releases the pair of branches. Each step may be repeated. */
export async function keepMerge(
  deps: Pick<RefChangeDeps, "store" | "git" | "visible" | "now">,
  row: MergeRequestRow,
  { mergeCommit, metadata }: Pick<BegunMerge, "mergeCommit"> & Pick<Begun, "metadata">,
  position: bigint | undefined,
): Promise<void> {
  const repository = await deps.git.find(row.project_id);
  const pair = {
    projectId: row.project_id,
    targetBranch: row.target_branch,
    sourceProjectId: row.source_project_id,
    sourceBranch: row.source_branch,
  };
  const now = (): string => deps.now().toISOString();
  // Compared with nothing: a request is merged once, and pipelines leave a ref alone that the target contains.
  await Promise.all([
    deps.visible(position),
    repository && setServiceRef(repository, mergeRefOf(row.local_id), mergeCommit),
    releasePair({ store: deps.store, now }, row.id, pair, metadata),
  ]);
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

/**
 * In the name of the merging user. The branch stays after a later push, while another open request needs it,
 * or when a rule forbids the removal.
 */
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
  const role = await actingRole(db, project, merge.begunById);
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
