import { z } from "zod";

import { openMergeRequest } from "../../commands/merge-request/change-merge-request.ts";
import { MergeRequestId, ObjectId } from "../../events/core/ids.ts";
import { headRefOf } from "../../events/merge-request/merge-request.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { keepFirst } from "../../platform/git/kept-ref.ts";
import { Refusal } from "../../platform/refusal.ts";
import { approvalConfigurationOf } from "../../projections/merge-request/approval-rule.ts";
import { mergeSettingsOf } from "../../projections/merge-request/merge-setting.ts";
import { findProjectById, type ProjectRow } from "../../projections/project/project.ts";
import { projectRole } from "../../projections/team/member-role.ts";
import { bringCommit } from "../../workers/merge-request/source.ts";
import { bringLfsObjects } from "../../workers/merge-request/source-lfs.ts";
import type { Role } from "../access/access.ts";
import { mustBeFound, mustSuffice } from "../access/role-access.ts";
import { commandDeps, stampOf } from "../core/command-deps.ts";
import type { Deps } from "../core/deps.ts";
import { route } from "../core/route.ts";
import { mustFindRef } from "../repository/ref-change.ts";
import { detailsIn, NewMergeRequest } from "./body.ts";
import { at, names, shown, type Writing, writing } from "./place.ts";
import { MergeRequestView } from "./schema.ts";

export const createMergeRequest = route({
  ...writing,
  method: "post",
  path: at,
  operationId: "createMergeRequest",
  summary: "Open a merge request",
  description:
    "From a branch that the caller may push to, also of a fork, into a branch of a project the caller may read.",
  params: z.object(names),
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
    const repository = await bringCommit(deps, source.project.id, target.project, sourceCommit);

    const mergeRequestId = MergeRequestId.parse(
      deterministicId(request.commandId, "merge request"),
    );
    const command = {
      type: "OpenMergeRequest",
      mergeRequestId,
      projectId: target.project.id,
      sourceProjectId: source.project.id,
      sourceBranch,
      targetBranch,
      sourceCommit,
      details: await newDetails(body, target.project, deps),
      ...stampOf(request, deps),
    } as const;
    const sourceProjectId = source.project.id;
    const brought = { sourceProjectId, target: target.project, repository, sourceCommit };
    // A request that is refused gives the target nothing.
    const { localId } = await request.executeProcess((metadata) =>
      bringLfsObjects(deps, brought, metadata, {
        open: () => openMergeRequest(commandDeps(deps), { id: mergeRequestId, metadata }, command),
        keep: (opened) => keepFirst(repository, headRefOf(opened.localId), sourceCommit),
      }),
    );
    return shown(deps, { ...request, ...target }, localId);
  },
});

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
  return new Refusal("unprocessable", "merge_request.same_branch", message, {
    errors: [{ field: "targetBranch", code: "merge_request.same_branch", message }],
  });
}

function unrelated(): Refusal {
  const message = "Merge requests go between branches of a project, or of a project and its forks.";
  return new Refusal("unprocessable", "merge_request.unrelated_projects", message, {
    errors: [{ field: "sourceProject", code: "merge_request.unrelated_projects", message }],
  });
}
