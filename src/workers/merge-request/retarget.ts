import { z } from "zod";

import { changeMergeRequest } from "../../commands/merge-request/change-merge-request.ts";
import { decode } from "../../events/core/decode.ts";
import type { Recorded } from "../../events/core/event.ts";
import { idInStream } from "../../events/core/stream.ts";
import { bySystem } from "../../events/core/system.ts";
import { branchPrefix, repositoryEvents } from "../../events/repository/repository.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { Refusal } from "../../platform/refusal.ts";
import { approvalConfigurationOf } from "../../projections/merge-request/approval-rule.ts";
import {
  findMergeRequestById,
  lastMergedFrom,
  newestOpenInto,
} from "../../projections/merge-request/merge-request-query.ts";
import type { MergeRequestRow } from "../../projections/merge-request/merge-request-row.ts";
import { findProjectById, type ProjectRow } from "../../projections/project/project.ts";
import { findRef, headBeforeDeletion } from "../../projections/repository/git-ref.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import { rulesOf } from "../../services/merge-request/approver.ts";
import type { Reactor } from "../core/reactor.ts";
import { defineWorker } from "../core/worker.ts";

const queue = "merge-request-retarget";
const requestsMax = 100;
/** Requests on requests: the target of one may be gone as well. */
const levelsMax = 20;

/** Requests into a branch that was merged and removed go to where the branch was merged. */
export const mergeRequestRetarget: Reactor = {
  name: "merge-request-retarget",
  types: new Set(["BranchDeleted", "MergeRequestMerged", "MergeRequestMergedByPush"]),
  async react(recorded, deps) {
    await deps.visible(recorded.position);
    const gone = await sourceIn(recorded, deps);
    if (gone === undefined) return [];
    const [open] = await newestOpenInto(deps.db, { ...gone, countMax: 1 });
    return open === undefined ? [] : [{ queue, id: recorded.id, data: gone }];
  },
};

/** The branch that was merged or removed, whichever was last. */
async function sourceIn(event: Recorded, { db }: WorkerDeps) {
  if (event.type === "BranchDeleted") {
    const { branch } = decode({ BranchDeleted: repositoryEvents.BranchDeleted }, event).data;
    return { projectId: idInStream(event.stream), branch };
  }
  const row = await findMergeRequestById(db, idInStream(event.stream));
  if (row === undefined || row.source_project_id !== row.project_id) return undefined;
  return { projectId: row.project_id, branch: row.source_branch };
}

export const mergeRequestRetargetWorker = defineWorker({
  queue,
  concurrency: 1,
  payload: z.object({ projectId: z.uuid(), branch: z.string() }),
  async run({ projectId, branch }, deps: WorkerDeps) {
    const project = await findProjectById(deps.db, projectId);
    const merged = project && (await mergedInto(deps, projectId, branch));
    if (project === undefined || merged?.merged_by_id == null) return;
    const rows = await newestOpenInto(deps.db, { projectId, branch, countMax: requestsMax });
    for (const row of rows) await retarget(deps, project, row, merged);
  },
});

/** The last request from a branch that is gone, and from the target of that where it is gone too. */
async function mergedInto(
  { db }: WorkerDeps,
  projectId: string,
  source: string,
): Promise<MergeRequestRow | undefined> {
  let merged: MergeRequestRow | undefined;
  let branch = source;
  for (let level = 0; level < levelsMax; level += 1) {
    if ((await findRef(db, projectId, "branch", branch)) !== undefined) return merged;
    merged = await lastMergedFrom(db, { projectId, branch });
    const head = await headBeforeDeletion(db, projectId, branchPrefix + branch);
    // A branch of that name may have been made anew since, and removed without a merge.
    if (merged === undefined || head !== merged.source_commit) return undefined;
    branch = merged.target_branch;
  }
  return undefined;
}

/** In the name of who merged. Approvals are void where the new target has rules: they were given for another branch. */
async function retarget(
  deps: WorkerDeps,
  project: ProjectRow,
  row: MergeRequestRow,
  { id, target_branch: targetBranch, merged_by_id: by }: MergeRequestRow,
): Promise<void> {
  const isSame = row.source_project_id === project.id && row.source_branch === targetBranch;
  if (by === null || isSame) return;
  const configuration = await approvalConfigurationOf(deps.db, { project });
  const wanted = { ...row, target_branch: targetBranch };
  const rules = await rulesOf(deps.db, project, wanted, configuration);
  const at = deps.now().toISOString();
  const metadata = bySystem({ commandId: deterministicId("retarget", row.id, id) }, at);
  const command = {
    type: "EditMergeRequest",
    projectId: project.id,
    change: {},
    targetBranch,
    mayEditMerged: false,
    removesApprovals:
      configuration.removeApprovalsOnChangingTargetBranch ||
      rules.some(({ minimalApprovals }) => minimalApprovals > 0),
    by,
    at,
  } as const;
  const process = { store: deps.store, now: () => at };
  try {
    const change = await changeMergeRequest(process, { id: row.id, metadata }, command);
    await deps.visible(change.position);
  } catch (error) {
    // Another request goes between the two branches already, or it is over.
    if (!(error instanceof Refusal) || error.kind !== "unprocessable") throw error;
    deps.log.info({ mergeRequestId: row.id, code: error.code }, "request keeps its target");
  }
}
