import type { UserId } from "../../events/core/ids.ts";
import { headRefOf } from "../../events/merge-request/merge-request.ts";
import type { PipelineOrigin } from "../../events/pipeline/pipeline.ts";
import { branchPrefix } from "../../events/repository/repository.ts";
import { clipText } from "../../platform/storable-text.ts";
import { labelsById } from "../../projections/label/label.ts";
import {
  findMergeRequestById,
  openMergeRequestsFrom,
} from "../../projections/merge-request/merge-request-query.ts";
import type { MergeRequestRow } from "../../projections/merge-request/merge-request-row.ts";
import { findProjectById, type ProjectRow } from "../../projections/project/project.ts";
import { type RefProtections, refProtections } from "../../projections/protection/applicable.ts";
import { actingRole } from "../../projections/team/acting-role.ts";
import { findUsersById } from "../../projections/user/user.ts";
import type { WorkerDeps } from "../core/deps.ts";

type VariableDeps = Pick<WorkerDeps, "db" | "publicUrl">;

const openMax = 4;
/** Of the requests, some may be out of sight of the person. */
const lookedAtMax = 20;

/**
 * `CI_MERGE_REQUEST_*` of a pipeline for a merge request, as the request is now, and
 * `CI_OPEN_MERGE_REQUESTS` of a pipeline of a branch that requests are open from.
 */
export async function mergeRequestVariables(
  deps: VariableDeps,
  project: Pick<ProjectRow, "id" | "owner_alias" | "owner_user_id" | "alias">,
  origin: PipelineOrigin,
): Promise<ReadonlyMap<string, string>> {
  const { mergeRequest, isTag, userId } = origin;
  if (isTag) return new Map();
  const [own, open] = await Promise.all([
    mergeRequest === null ? {} : ofRequest(deps, { project, userId, mergeRequest }),
    openRequestVariables(deps, project, origin),
  ]);
  return new Map(Object.entries({ ...own, ...open }));
}

type OfRequest = Readonly<{
  /** In which the pipeline runs. */
  project: Pick<ProjectRow, "id" | "owner_user_id">;
  userId: UserId | null;
  mergeRequest: NonNullable<PipelineOrigin["mergeRequest"]>;
}>;

async function ofRequest(
  { db, publicUrl }: VariableDeps,
  { project, userId, mergeRequest }: OfRequest,
): Promise<Readonly<Record<string, string>>> {
  const { mergeRequestId, projectId, sourceProjectId, sourceCommit, targetCommit } = mergeRequest;
  const { baseCommit } = mergeRequest;
  const [known, into, source] = await Promise.all([
    mergeRequestId && findMergeRequestById(db, mergeRequestId),
    projectId && findProjectById(db, projectId),
    sourceProjectId && findProjectById(db, sourceProjectId),
  ]);
  const readers = [userId, project.owner_user_id];
  const isReadable =
    into !== undefined && (into.id === project.id || (await mayAll(db, into, readers)));
  const [row, target] = isReadable ? [known, into] : [];
  const { sourceBranch, targetBranch } = mergeRequest;
  const ofTarget = target && refProtections(db, target);
  const isWithin = source?.id === target?.id;
  const ofSource = isWithin ? ofTarget : source && refProtections(db, source);
  const [bySource, byTarget] = await Promise.all([ofSource, ofTarget]);
  return {
    CI_MERGE_REQUEST_REF_PATH: headRefOf(mergeRequest.localId),
    CI_MERGE_REQUEST_EVENT_TYPE: targetCommit ? "merged_result" : "detached",
    ...(mergeRequestId && { CI_MERGE_REQUEST_ID: mergeRequestId }),
    ...(baseCommit && { CI_MERGE_REQUEST_DIFF_BASE_SHA: baseCommit }),
    ...(row && (await ofRow(db, row))),
    ...(bySource && branchProtected("SOURCE", bySource, sourceBranch)),
    ...(byTarget && branchProtected("TARGET", byTarget, targetBranch)),
    ...(target && ofProject("CI_MERGE_REQUEST_PROJECT", target, publicUrl)),
    ...(source && ofProject("CI_MERGE_REQUEST_SOURCE_PROJECT", source, publicUrl)),
    ...(targetCommit && {
      CI_MERGE_REQUEST_SOURCE_BRANCH_SHA: sourceCommit ?? "",
      CI_MERGE_REQUEST_TARGET_BRANCH_SHA: targetCommit,
    }),
  };
}

function branchProtected(side: "SOURCE" | "TARGET", protections: RefProtections, branch: string) {
  const isProtected = protections.of(branchPrefix + branch) !== null;
  return { [`CI_MERGE_REQUEST_${side}_BRANCH_PROTECTED`]: String(isProtected) };
}

const descriptionLengthMax = 2_700;

/** Lists are separated by commas, and left out where they are empty. */
async function ofRow(
  db: VariableDeps["db"],
  row: MergeRequestRow,
): Promise<Readonly<Record<string, string>>> {
  const [labels, assignees] = await Promise.all([
    labelsById(db, row.label_ids),
    findUsersById(db, row.assigned_user_ids),
  ]);
  const titles = row.label_ids.flatMap((id) => labels.get(id)?.title ?? []);
  const aliases = row.assigned_user_ids.flatMap((id) => assignees.get(id)?.alias ?? []);
  return {
    CI_MERGE_REQUEST_TITLE: row.title,
    CI_MERGE_REQUEST_DESCRIPTION: clipText(row.description, descriptionLengthMax),
    CI_MERGE_REQUEST_DESCRIPTION_IS_TRUNCATED: String(
      row.description.length > descriptionLengthMax,
    ),
    CI_MERGE_REQUEST_DRAFT: String(row.is_draft),
    CI_MERGE_REQUEST_SQUASH_ON_MERGE: String(row.squash_commit),
    ...(titles.length > 0 && { CI_MERGE_REQUEST_LABELS: titles.join(",") }),
    ...(aliases.length > 0 && { CI_MERGE_REQUEST_ASSIGNEES: aliases.join(",") }),
  };
}

/** Those who push to a fork can read the variables of its jobs, so at least its owner needs access to the target. */
async function mayAll(
  db: VariableDeps["db"],
  target: ProjectRow,
  userIds: readonly (string | null)[],
): Promise<boolean> {
  const roles = await Promise.all(userIds.map((userId) => actingRole(db, target, userId)));
  return roles.every((role) => role !== undefined);
}

const pathOf = ({ owner_alias, alias }: Pick<ProjectRow, "owner_alias" | "alias">): string =>
  `${owner_alias}/${alias}`;

const ofProject = (prefix: string, project: ProjectRow, publicUrl: string) => ({
  [`${prefix}_ID`]: project.id,
  [`${prefix}_PATH`]: pathOf(project),
  [`${prefix}_URL`]: `${publicUrl}/project/${pathOf(project)}`,
});

/**
 * `CI_OPEN_MERGE_REQUESTS` of a branch, where there are any: of targets that the person behind the pipeline may see, as
 * `owner/alias!7`.
 */
async function openRequestVariables(
  { db }: Pick<VariableDeps, "db">,
  project: Pick<ProjectRow, "id">,
  { mergeRequest, ref, userId }: PipelineOrigin,
): Promise<Readonly<Record<string, string>>> {
  const names: string[] = [];
  const branch = mergeRequest?.sourceBranch ?? ref;
  const source = { projectId: project.id, branch, countMax: lookedAtMax };
  for (const row of await openMergeRequestsFrom(db, source)) {
    if (names.length === openMax) break;
    const target = await findProjectById(db, row.project_id);
    if (target === undefined || (await actingRole(db, target, userId)) === undefined) continue;
    names.push(`${pathOf(target)}!${row.local_id}`);
  }
  return names.length === 0 ? {} : { CI_OPEN_MERGE_REQUESTS: names.join(",") };
}
