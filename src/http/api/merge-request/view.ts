import type { z } from "zod";
import { labelsById } from "../../../projections/label/label.ts";
import {
  type MergeRequestRow,
  mergeRequestStatusTitles,
  whyDropped,
} from "../../../projections/merge-request/merge-request-row.ts";
import { findProjectById, type ProjectRow } from "../../../projections/project/project.ts";
import { findRef } from "../../../projections/repository/git-ref.ts";
import { projectRole } from "../../../projections/team/member-role.ts";
import { findUsersById, type UserRow } from "../../../projections/user/user.ts";
import { type Judgement, mergeJudge, notCompared } from "../../../services/merge-request/judge.ts";
import type { Deps } from "../../core/deps.ts";
import type { RequestFor } from "../../core/request.ts";
import { type SelectorObject, selectorObject } from "../../core/selector.ts";
import { toView } from "../../core/view.ts";
import { labelView } from "../label/view.ts";
import { type CommitView, commitViews } from "../repository/commit-view.ts";
import { participantView } from "../user/participant.ts";
import { userView } from "../user/view.ts";
import { MergeRequestView } from "./schema.ts";

export type Presented = z.input<typeof MergeRequestView>;

/** Who looks, and in which project. */
export type Reading = Pick<RequestFor<"project:GUEST">, "project" | "role" | "userId">;

/** Requests of one project as one person sees them. */
export async function mergeRequestViews(
  deps: Deps,
  reading: Reading,
  rows: readonly MergeRequestRow[],
): Promise<readonly Presented[]> {
  const { project } = reading;
  const judge = deps.past ? notJudged : mergeJudge(deps, project, reading);
  // A request that is not open needs no comparison: its judgement is read along with the rest.
  const [only] = rows.length === 1 ? rows : [];
  const early = only && only.status !== "OPENED" ? judge(only) : undefined;
  early?.catch(() => undefined);
  const [users, labels, sources, commits, gone] = await Promise.all([
    findUsersById(deps.db, peopleIn(rows)),
    labelsById(
      deps.db,
      rows.flatMap(({ label_ids }) => label_ids),
    ),
    sourcesOf(deps, reading, rows),
    mergeCommitsOf(deps, project, rows),
    Promise.all(rows.map((row) => deps.past !== true && isSourceGone(deps, row))),
  ]);
  const shown: Presented[] = [];
  // One after the other: what is not known yet takes processes of git.
  for (const [index, row] of rows.entries()) {
    const judgement = await (early ?? judge(row));
    const view = toView(MergeRequestView, row, {
      ...plainView(row, users),
      ...judgementView(judgement),
      labels: row.label_ids.flatMap((id) => labels.get(id) ?? []).map(labelView),
      sourceBranch: branchSelected(
        row.source_branch,
        row.source_commit,
        // The branches of a deleted project stay until it is purged.
        deps.past !== true && (gone[index] === true || !sources.has(row.source_project_id)),
      ),
      targetBranch: branchSelected(
        row.target_branch,
        judgement.targetHead ?? null,
        deps.past !== true && judgement.targetHead === undefined,
      ),
      sourceProject: sources.get(row.source_project_id) ?? hiddenProject(row.source_project_id),
      targetProject: projectSelected(project),
      projectAlias: project.alias,
      userAlias: project.owner_alias,
      mergeCommit: commits.get(row.merge_commit ?? "") ?? null,
    });
    shown.push(view);
  }
  return shown;
}

const peopleIn = (rows: readonly MergeRequestRow[]): readonly string[] => [
  ...new Set(
    rows.flatMap((row) => [
      row.author_id,
      ...row.assigned_user_ids,
      ...row.reviewer_ids,
      ...(row.merged_by_id === null ? [] : [row.merged_by_id]),
    ]),
  ),
];

function plainView(row: MergeRequestRow, users: ReadonlyMap<string, UserRow>) {
  const people = (ids: readonly string[]) => ids.flatMap((id) => users.get(id) ?? []).map(userView);
  const { author_id: authorId, merged_by_id: mergedById } = row;
  return {
    workInProgress: row.is_draft,
    assignedUsers: people(row.assigned_user_ids),
    reviewers: people(row.reviewer_ids),
    status: selectorObject({ id: row.status, title: mergeRequestStatusTitles[row.status] }),
    createdBy: participantView(users.get(authorId), authorId),
    mergeWhenPipelineSucceeds: row.auto_merge !== null,
    autoMergeDropped: droppedView(row),
    mergedBy: mergedById && participantView(users.get(mergedById), mergedById),
    failureReason: row.failure,
    // Rows of the earlier release lack it until they are built again.
    refsDeleted: row.refs_deleted === true,
  };
}

function droppedView({ dropped_merge: dropped }: MergeRequestRow) {
  // Rows of the earlier release lack it until they are built again.
  if (dropped == null) return null;
  const { reason, refusal, droppedAt } = dropped;
  return {
    reason,
    code: refusal?.code ?? null,
    message: whyDropped(dropped),
    droppedAt: new Date(droppedAt),
  };
}

function judgementView(judgement: Judgement) {
  const { requirements, canMerge, conflicts, conflictsCount, lockConflicts } = judgement;
  return {
    canMerge,
    mergeRequirements: requirements,
    mergeErrors: judgement.errors.map(({ field, ...error }) => ({
      ...error,
      ...(field !== undefined && { requirement: field, field }),
    })),
    hasCommonHistory: judgement.hasCommonHistory,
    hasConflicts: conflictsCount > 0,
    conflicts: [...conflicts],
    conflictsCount,
    hasLockConflicts: lockConflicts.length > 0,
    lockConflicts: [...lockConflicts],
  };
}

/** Whether a request could be merged is known of today alone: it depends on what the repository holds. */
const notJudged = async (row: MergeRequestRow): Promise<Judgement> => ({
  ...notCompared(row, undefined),
  errors: [],
});

const branchSelected = (name: string, hash: string | null, isDeleted: boolean): SelectorObject =>
  selectorObject({ id: name, title: name, hash, isDeleted });

const projectSelected = ({
  id,
  title,
  alias,
  owner_alias: ownerAlias,
}: ProjectRow): SelectorObject => selectorObject({ id, title, alias, ownerAlias });

/** A project that is gone, or that the caller may not see. */
const hiddenProject = (id: string): SelectorObject => selectorObject({ id, isDeleted: true });

/** The source projects that the caller may see. */
async function sourcesOf(
  { db }: Deps,
  { project, userId }: Reading,
  rows: readonly MergeRequestRow[],
): Promise<ReadonlyMap<string, SelectorObject>> {
  const found = new Map([[project.id as string, projectSelected(project)]]);
  for (const id of new Set(rows.map(({ source_project_id }) => source_project_id))) {
    const source = found.has(id) ? undefined : await findProjectById(db, id);
    if (source === undefined) continue;
    const role = await projectRole(db, source, userId);
    found.set(
      id,
      role === undefined ? { ...hiddenProject(id), isDeleted: false } : projectSelected(source),
    );
  }
  return found;
}

async function isSourceGone({ db }: Deps, row: MergeRequestRow): Promise<boolean> {
  return (await findRef(db, row.source_project_id, "branch", row.source_branch)) === undefined;
}

async function mergeCommitsOf(
  deps: Deps,
  { id }: ProjectRow,
  rows: readonly MergeRequestRow[],
): Promise<ReadonlyMap<string, z.input<typeof CommitView>>> {
  const ids = rows.flatMap(({ merge_commit }) => merge_commit ?? []);
  const repository = ids.length === 0 ? undefined : await deps.git.find(id);
  if (repository === undefined) return new Map();
  const commits = await Promise.all(ids.map((commitId) => repository.objects.commit(commitId)));
  const known = commits.filter((commit) => commit !== undefined);
  const views = await commitViews(deps, id, known);
  return new Map(views.map((view) => [view.hash, view]));
}
