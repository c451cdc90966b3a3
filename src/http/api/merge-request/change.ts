import { changeMergeRequest } from "../../../commands/merge-request/change-merge-request.ts";
import {
  mergeRequest,
  mergeRequestNotFound,
} from "../../../commands/merge-request/merge-request.ts";
import type { MergeRequestCommand } from "../../../commands/merge-request/merge-request-command.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { approvalConfigurationOf } from "../../../projections/merge-request/approval-rule.ts";
import { findMergeRequestById } from "../../../projections/merge-request/merge-request-query.ts";
import type { MergeRequestRow } from "../../../projections/merge-request/merge-request-row.ts";
import { deleteRefs } from "../../../services/merge-request/delete-refs.ts";
import { mustSuffice } from "../../access/role-access.ts";
import { commandDeps, projectStampOf } from "../../core/command-deps.ts";
import type { Deps } from "../../core/deps.ts";
import { type Route, route } from "../../core/route.ts";
import { fieldRefusal } from "../../core/schema.ts";
import { mustFindRef } from "../repository/ref-change.ts";
import { detailsIn, MergeRequestChange, MergeRequestChangeById } from "./body.ts";
import {
  at,
  findView,
  mayDeleteRefs,
  mustBeChangeable,
  mustFindMergeRequest,
  type Writing,
  writing,
} from "./place.ts";
import { MergeRequestView } from "./schema.ts";

const editMergeRequest = route({
  ...writing,
  method: "put",
  path: `${at}/{localId}`,
  operationId: "editMergeRequest",
  summary: "Edit a merge request",
  description: "By its author or a developer. The source cannot change.",
  body: MergeRequestChange,
  reply: MergeRequestView,
  async handle({ params, body, request }, deps) {
    const row = await mustBeChangeable(deps, request, params.localId);
    return edit(row, body, request, deps);
  },
});

const editMergeRequestById = route({
  ...writing,
  method: "put",
  path: at,
  operationId: "editMergeRequestById",
  summary: "Edit a merge request that the body names",
  description: "By its author or a developer. The source cannot change.",
  body: MergeRequestChangeById,
  reply: MergeRequestView,
  async handle({ body: { id, ...body }, request }, deps) {
    const found = await findMergeRequestById(deps.db, id);
    if (found?.project_id !== request.project.id) throw mergeRequestNotFound();
    return edit(await mustBeChangeable(deps, request, found.local_id), body, request, deps);
  },
});

const cancelMergeRequest = transition("cancel", "CancelMergeRequest", "Cancel a merge request");
const closeMergeRequest = transition("close", "CloseMergeRequest", "Close a merge request");
const reopenMergeRequest = transition(
  "reopen",
  "ReopenMergeRequest",
  "Open a closed merge request again",
);

const deleteMergeRequestRefs = route({
  ...writing,
  method: "delete",
  path: `${at}/{localId}/refs`,
  operationId: "deleteMergeRequestRefs",
  summary: "Delete the commits that a project keeps of a merge request",
  description:
    "Of a request that ended without being merged, by its author or an ADMIN. It cannot be opened again. Doing it twice changes nothing.",
  reply: MergeRequestView,
  async handle({ params, request }, deps) {
    const row = await mustFindMergeRequest(deps, request, params.localId);
    if (!mayDeleteRefs(row, request)) {
      mustSuffice(request.role, { resource: "project", role: "ADMIN" });
    }
    const command = { type: "DeleteMergeRequestRefs", ...projectStampOf(request, deps) } as const;
    await request.execute(mergeRequest, row.id, command);
    await deleteRefs(deps, row);
    return findView(deps, request, row.local_id);
  },
});

export const mergeRequestChangeRoutes: readonly Route[] = [
  editMergeRequest,
  editMergeRequestById,
  cancelMergeRequest,
  closeMergeRequest,
  reopenMergeRequest,
  deleteMergeRequestRefs,
];

function transition(
  verb: "cancel" | "close" | "reopen",
  type: "CancelMergeRequest" | "CloseMergeRequest" | "ReopenMergeRequest",
  summary: string,
): Route {
  return route({
    ...writing,
    method: "post",
    path: `${at}/{localId}/${verb}`,
    operationId: `${verb}MergeRequest`,
    summary,
    description: "By its author or a developer. Doing it twice changes nothing.",
    reply: MergeRequestView,
    async handle({ params, request }, deps) {
      const row = await mustBeChangeable(deps, request, params.localId);
      return changed(row, { type, ...projectStampOf(request, deps) }, request, deps);
    },
  });
}

/** Carries a command out and answers the request as it is then. */
export async function changed(
  row: MergeRequestRow,
  command: MergeRequestCommand,
  request: Writing,
  deps: Deps,
) {
  await request.executeProcess((metadata) =>
    changeMergeRequest(commandDeps(deps), { id: row.id, metadata }, command),
  );
  return findView(deps, request, row.local_id);
}

async function edit(row: MergeRequestRow, body: MergeRequestChange, request: Writing, deps: Deps) {
  const { project } = request;
  mustKeepSource(row, body);
  const targetBranch = body.targetBranch?.id;
  if (targetBranch !== undefined && targetBranch !== row.target_branch) {
    await mustFindRef(deps.db, project.id, "branch", targetBranch);
    if (row.source_project_id === project.id && targetBranch === row.source_branch) {
      const message = "Source and target are the same branch.";
      throw new Refusal("unprocessable", "merge_request.same_branch", message);
    }
  }
  const configuration = await approvalConfigurationOf(deps.db, { project });
  const command = {
    type: "EditMergeRequest",
    change: await detailsIn(deps.db, project, body, row),
    ...(targetBranch === undefined ? {} : { targetBranch }),
    mayEditMerged: configuration.editMergedMergeRequest,
    removesApprovals: configuration.removeApprovalsOnChangingTargetBranch,
    ...projectStampOf(request, deps),
  } as const;
  return changed(row, command, request, deps);
}

/** Clients send the whole request back: what they say of its source must be what it is. */
function mustKeepSource(row: MergeRequestRow, body: MergeRequestChange): void {
  const { sourceBranch, sourceProject, targetProject } = body;
  const kept =
    (sourceBranch?.id ?? row.source_branch) === row.source_branch &&
    (sourceProject?.id ?? row.source_project_id) === row.source_project_id &&
    (targetProject?.id ?? row.project_id) === row.project_id;
  if (kept) return;
  const message = "The source and the projects of a merge request cannot change.";
  throw fieldRefusal("sourceBranch", "merge_request.source_fixed", message);
}
