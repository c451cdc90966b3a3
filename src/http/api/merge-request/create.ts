import { openMergeRequest } from "../../../commands/merge-request/change-merge-request.ts";
import { pairTaken } from "../../../commands/merge-request/pair.ts";
import { MergeRequestId, ObjectId } from "../../../events/core/ids.ts";
import { headRefOf } from "../../../events/merge-request/merge-request.ts";
import { makeServiceRef } from "../../../git/service-ref.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import type { Refusal } from "../../../platform/refusal.ts";
import { approvalConfigurationOf } from "../../../projections/merge-request/approval-rule.ts";
import { openMergeRequestsFrom } from "../../../projections/merge-request/merge-request-query.ts";
import type { MergeRequestRow } from "../../../projections/merge-request/merge-request-row.ts";
import { mergeSettingsOf } from "../../../projections/merge-request/merge-setting.ts";
import { findProjectById, type ProjectRow } from "../../../projections/project/project.ts";
import { projectRole } from "../../../projections/team/member-role.ts";
import { bringSource } from "../../../services/merge-request/bring-source.ts";
import type { Role } from "../../access/access.ts";
import { mustBeFound, mustSuffice } from "../../access/role-access.ts";
import { commandDeps, stampOf } from "../../core/command-deps.ts";
import type { Deps } from "../../core/deps.ts";
import { route } from "../../core/route.ts";
import { fieldRefusal } from "../../core/schema.ts";
import { mustFindRef } from "../repository/ref-change.ts";
import { detailsIn, NewMergeRequest } from "./body.ts";
import { at, findView, type Writing, writing } from "./place.ts";
import { MergeRequestView } from "./schema.ts";

export const createMergeRequest = route({
  ...writing,
  method: "post",
  path: at,
  operationId: "createMergeRequest",
  summary: "Open a merge request",
  description:
    "From a branch that the caller may push to, also of a fork, into a branch of a project the caller may read.",
  body: NewMergeRequest,
  reply: MergeRequestView,
  async handle({ body, request }, deps) {
    const { source, target } = await sidesOf(body, request, deps);
    const [sourceBranch, targetBranch] = [body.sourceBranch.id, body.targetBranch.id];
    if (source.project.id === target.project.id && sourceBranch === targetBranch)
      throw sameBranch();
    const head = await mustFindRef(deps.db, source.project.id, "branch", sourceBranch);
    await mustFindRef(deps.db, target.project.id, "branch", targetBranch);
    const sourceCommit = ObjectId.parse(head.object_id);
    const sourceProjectId = source.project.id;
    await mustBeFree({ sourceProjectId, sourceBranch, target: target.project, targetBranch }, deps);

    const mergeRequestId = MergeRequestId.parse(
      deterministicId(request.commandId, "merge request"),
    );
    const command = {
      type: "OpenMergeRequest",
      mergeRequestId,
      projectId: target.project.id,
      sourceProjectId,
      sourceBranch,
      targetBranch,
      sourceCommit,
      details: await newDetails(body, target.project, deps),
      ...stampOf(request, deps),
    } as const;
    const brought = {
      sourceProjectId,
      target: target.project,
      authorId: request.userId,
      sourceCommit,
    };
    const { localId } = await request.executeProcess((metadata) =>
      bringSource(deps, brought, metadata, {
        open: ({ repository: _, ...came }) =>
          openMergeRequest(
            commandDeps(deps),
            { id: mergeRequestId, metadata },
            { ...command, ...came },
          ),
        async keep({ localId, position }, { repository }) {
          await makeServiceRef(repository, headRefOf(localId), sourceCommit);
          return position;
        },
      }),
    );
    return findView(deps, { ...request, ...target }, localId);
  },
});

type Wanted = Readonly<{
  sourceProjectId: string;
  sourceBranch: string;
  target: ProjectRow;
  targetBranch: string;
}>;

/**
 * A request that is refused gives the target nothing: what is known to be refused is refused before commits come.
 *
 * @throws Refusal 422 `merge_request.pair_taken`
 */
async function mustBeFree(
  { sourceProjectId, sourceBranch, target, targetBranch }: Wanted,
  { db }: Deps,
): Promise<void> {
  if (sourceProjectId === target.id) return;
  const open = await openMergeRequestsFrom(db, {
    projectId: sourceProjectId,
    branch: sourceBranch,
  });
  const isSame = (row: MergeRequestRow): boolean =>
    row.project_id === target.id && row.target_branch === targetBranch;
  if (open.some(isSame)) throw pairTaken();
}

type Side = Readonly<{ project: ProjectRow; role: Role }>;
type Sides = Readonly<{ source: Side; target: Side }>;

/** @throws Refusal 403, 404 by the caller's rights in both projects; 422 for projects that are not related */
async function sidesOf(body: NewMergeRequest, request: Writing, deps: Deps): Promise<Sides> {
  const { project, role, userId } = request;
  const sideOf = async (id: string | undefined): Promise<Side> => {
    if (id === undefined || id === project.id) return { project, role };
    const other = mustBeFound(await findProjectById(deps.db, id), "project");
    const needed = { resource: "project", role: "GUEST" } as const;
    return { project: other, role: mustSuffice(await projectRole(deps.db, other, userId), needed) };
  };
  const target = await sideOf(body.targetProject?.id);
  const source = await sideOf(body.sourceProject?.id);
  mustSuffice(source.role, { resource: "project", role: "DEVELOPER" });
  if (source.project.id !== project.id && target.project.id !== project.id) throw unrelated();
  if (!areRelated(source.project, target.project)) throw unrelated();
  return { source, target };
}

/** The same, one forked from the other, or both from a third. */
function areRelated(one: ProjectRow, other: ProjectRow): boolean {
  const family = [other.id, ...(other.forked_from_id === null ? [] : [other.forked_from_id])];
  return family.includes(one.id) || family.some((id) => id === one.forked_from_id);
}

async function newDetails(body: NewMergeRequest, target: ProjectRow, { db }: Deps) {
  const { messages } = await mergeSettingsOf(db, target.id);
  const configuration = await approvalConfigurationOf(db, { project: target });
  return {
    description: messages.mergeRequestDescriptionTemplate,
    removeSourceBranch: configuration.enableRemoveSourceBranchByDefault,
    squashCommit: false,
    workInProgress: false,
    assignedUserIds: [],
    reviewerIds: [],
    labelIds: [],
    ...(await detailsIn(db, target, body)),
    title: body.title,
  };
}

function sameBranch(): Refusal {
  const message = "Source and target are the same branch.";
  return fieldRefusal("targetBranch", "merge_request.same_branch", message);
}

function unrelated(): Refusal {
  const message = "Merge requests go between branches of a project, or of a project and its forks.";
  return fieldRefusal("sourceProject", "merge_request.unrelated_projects", message);
}
