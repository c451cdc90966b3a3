import { randomUUID } from "node:crypto";

import {
  currentState,
  handle,
  handleKnown,
  type LoadedState,
  loadState,
} from "../../commands/core/handle.ts";
import {
  changedMeanwhile,
  isUnderWay,
  mergeRequest,
  mergeRequestNotFound,
} from "../../commands/merge-request/merge-request.ts";
import {
  type ExistingMergeRequest,
  isExisting,
  type MergeRequestState,
} from "../../commands/merge-request/merge-request-state.ts";
import type { EventMetadata } from "../../events/core/event.ts";
import { ObjectId, type UserId } from "../../events/core/ids.ts";
import type { Role } from "../../events/core/role.ts";
import { bySystem } from "../../events/core/system.ts";
import { type MergeChoice, mergeRefOf } from "../../events/merge-request/merge-request.ts";
import { branchPrefix } from "../../events/repository/repository.ts";
import { isFinalFailure, mergeFailure } from "../../git/merge-failure.ts";
import { identLine } from "../../git/object/writer.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { invariant } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import { findMergeRequestById } from "../../projections/merge-request/merge-request-query.ts";
import type { MergeRequestRow } from "../../projections/merge-request/merge-request-row.ts";
import { mergeSettingsOf } from "../../projections/merge-request/merge-setting.ts";
import type { ProjectRow } from "../../projections/project/project.ts";
import { findRef } from "../../projections/repository/git-ref.ts";
import { accountIdent } from "../../projections/user/commit-author.ts";
import { changesOfCommand } from "../git/push-intent.ts";
import { changedEarlier, changeRefs, type RefChangeDeps } from "../git/ref-change.ts";
import { finishMerge, finishOwnMerge } from "./finish-merge.ts";
import { type Judgement, mergeJudge } from "./judge.ts";
import { type Making, makeMerge } from "./make-merge.ts";
import { filledMessage } from "./merge-message.ts";
import { failureIn, mergeFailed, notOpen, refusalOf } from "./merge-refusal.ts";
import { withNewestSource } from "./source.ts";
import type { SourceDeps } from "./source-subject.ts";
import { mustStillHold, withRoleNow } from "./still-holds.ts";

export type MergeDeps = RefChangeDeps & SourceDeps & Readonly<{ publicUrl: string }>;

export type MergeOrder = Readonly<{
  mergeRequestId: string;
  /** The target, and what the merger is there. */
  project: ProjectRow;
  role: Role | undefined;
  userId: UserId;
  /** The same command is carried out once. */
  metadata: EventMetadata;
  choice: MergeChoice;
  /** Only while this is the head of the source. */
  seen?: ObjectId | undefined;
}>;

/** Pushes into the target that came in between, each of which the merge is made again after. */
const attemptsMax = 8;

/** The change of the branch that has the id of the merge: it may still be made. */
const alreadyUnderWay = "idempotency.in_progress";

/** Refusals by a merge of the same request that has not ended: how it ends decides. */
export const refusalsByAnother: readonly string[] = [alreadyUnderWay, "merge.in_progress"];

/**
 * Merges an open request: judged, made, announced in its stream, the branch moved by compare-and-swap,
 * recorded; see docs/adr/0064-merging.md. A process that dies on the way leaves either an unmoved branch
 * and an open request, or a moved branch and a worker that records the merge.
 *
 * @throws Refusal 409 `merge.conflict`, `merge.not_fast_forward`, `merge.in_progress`,
 *   `merge_request.changed`, `branch.moved`, `lfs_lock.of_others`; 422 `merge.requirements`,
 *   `merge.nothing`, `merge_request.final`, `merge_request.closed`; 403 `auth.role_missing`, `branch.protected`;
 *   503 `merge.unavailable`
 */
export async function merge(deps: MergeDeps, requested: MergeOrder): Promise<void> {
  let order = requested;
  for (let attempt = 0; ; attempt += 1) {
    const reading = newest(deps, order);
    // What was merged before is answered whatever became of it.
    reading.catch(() => undefined);
    const known = await settled(deps, order);
    const { own, next: mergeId } = mergeIdsOf(order, known.state);
    if (known.state.status === "MERGED" && own.size > 0) return;
    mustNotBeRepeated(deps, known.state, own);
    mustBeOpen(known.state);
    const row = await reading;
    if (order.seen !== undefined && order.seen !== row.source_commit) throw changedMeanwhile();
    try {
      await attemptOnce(deps, order, { row, known, mergeId });
      return;
    } catch (error) {
      const isRace =
        error instanceof Refusal &&
        (["branch.moved", "merge_request.changed"].includes(error.code) ||
          (error.code === "merge.nothing" && (await mergedByAnother(deps, order, row))));
      if (!isRace || attempt + 1 === attemptsMax) throw error;
      const { position } = await loadState(deps.store, mergeRequest, row.id);
      await deps.visible(position);
      order = await withRoleNow(deps.db, order);
    }
  }
}

/**
 * The merges that attempts at this command began, and the id of the next: a merge that was begun is never begun
 * again, because its commit is in the log and another attempt makes another commit.
 */
function mergeIdsOf(
  { metadata }: Pick<MergeOrder, "metadata">,
  { begun }: Pick<ExistingMergeRequest, "begun">,
): Readonly<{ own: ReadonlySet<string>; next: string }> {
  const idOf = (at: number) => deterministicId(metadata.commandId, "merge", at);
  const ids = Array.from({ length: begun.size + attemptsMax }, (_, at) => idOf(at));
  const next = ids.find((id) => !begun.has(id));
  invariant(next !== undefined, "There are more ids than merges begun");
  return { own: new Set(ids.filter((id) => begun.has(id))), next };
}

/**
 * An attempt at the same command may be about to move the branch, here or in another process.
 *
 * @throws Refusal 503 `merge.unavailable`, which an Idempotency-Key does not keep
 */
function mustNotBeRepeated(
  { now }: Pick<MergeDeps, "now">,
  { merging }: ExistingMergeRequest,
  own: ReadonlySet<string>,
): void {
  if (merging === undefined || !own.has(merging.mergeId)) return;
  if (!isUnderWay(merging, now().getTime())) return;
  const message = "An earlier attempt at the same merge is still running. Try again in a moment.";
  throw new Refusal("unavailable", "merge.unavailable", message, { retryAfterSeconds: 1 });
}

/** The request with every merge accounted for that moved the branch and was not recorded. */
async function settled(
  deps: MergeDeps,
  order: MergeOrder,
): Promise<LoadedState<ExistingMergeRequest>> {
  const read = async (): Promise<LoadedState<ExistingMergeRequest>> => {
    const known = await loadState(deps.store, mergeRequest, order.mergeRequestId);
    const { state } = known;
    if (state.status === "absent") throw mergeRequestNotFound();
    return { ...known, state };
  };
  const known = await read();
  if (known.state.status === "MERGED") return known;
  const { own } = mergeIdsOf(order, known.state);
  const { project } = order;
  for (const { mergeId } of known.state.begun.values()) {
    const { refs } = own.has(mergeId)
      ? await changedEarlier(deps, { project, metadata: { commandId: mergeId } })
      : await changesOfCommand(deps.db, project.id, mergeId);
    if (refs.size === 0) continue;
    await finishMerge(deps, order.mergeRequestId, mergeId);
    return read();
  }
  return known;
}

/**
 * Whether there is nothing to merge because the request was merged meanwhile. Records the merge under way whose
 * commit the target has already: the process that moved the branch is not done or died, or the move was accounted for
 * under another command.
 */
async function mergedByAnother(
  deps: MergeDeps,
  { mergeRequestId, project }: MergeOrder,
  { target_branch }: MergeRequestRow,
): Promise<boolean> {
  const state = await currentState(deps.store, mergeRequest, mergeRequestId);
  if (state.status !== "OPENED") return true;
  const merge = state.merging;
  if (merge === undefined || merge.targetBranch !== target_branch) return false;
  const repository = await deps.git.find(project.id);
  const target = await findRef(deps.db, project.id, "branch", target_branch);
  if (repository === undefined || target === undefined) return false;
  if (!(await repository.isAncestor(merge.mergeCommit, target.object_id))) return false;
  await finishMerge(deps, mergeRequestId, merge.mergeId);
  return true;
}

async function newest(deps: MergeDeps, { mergeRequestId }: MergeOrder): Promise<MergeRequestRow> {
  const row = await findMergeRequestById(deps.db, mergeRequestId);
  if (row === undefined) throw mergeRequestNotFound();
  return withNewestSource(deps, row);
}

type Attempt = Readonly<{
  row: MergeRequestRow;
  known: LoadedState<ExistingMergeRequest>;
  mergeId: string;
}>;

async function attemptOnce(deps: MergeDeps, order: MergeOrder, attempt: Attempt): Promise<void> {
  const { project, role, metadata } = order;
  const { row, known, mergeId } = attempt;
  const preparing = prepared(deps, order, row);
  // Unmet conditions are reported before a failure of the preparation.
  preparing.catch(() => undefined);
  const judged = await mustBeMergeable(deps, order, row);
  const { targetHead } = judged;
  const mergeCommit = await made(deps, row, await preparing, targetHead);
  const command = beginning(deps, order, attempt, { judged, mergeCommit });
  // Unlike that of any other attempt, which makes another commit: the store would take it for a repetition.
  const begin = { ...metadata, commandId: randomUUID() };
  let after: LoadedState<MergeRequestState> | undefined;
  const first = async (): Promise<void> => {
    await mustStillHold(deps.db, order, row, judged);
    const beginOrder = { id: row.id, command, metadata: begin };
    after ??= await handleKnown(deps.store, mergeRequest, beginOrder, known);
  };
  const ref = branchPrefix + row.target_branch;
  const plan = async () => [{ ref, before: targetHead, after: mergeCommit }];
  const kept = [{ ref: mergeRefOf(row.local_id), id: mergeCommit }];
  // The judge found the rights; the branch is held against them once more as it moves.
  const change = { project, role: role ?? "GUEST", plan, merging: true, first, kept } as const;
  try {
    await changeRefs(deps, { ...change, metadata: { ...metadata, commandId: mergeId } });
  } catch (error) {
    // Any other failure leaves open whether the branch was moved: the refs show it, see `settled`.
    const isOver = error instanceof Refusal && error.code !== alreadyUnderWay;
    if (isOver && after !== undefined) await abandon(deps, row, mergeId, metadata);
    throw error;
  }
  const state = after?.state;
  const merge = state && isExisting(state) ? state.begun.get(mergeId) : undefined;
  // Without one, an earlier attempt at the same command moved the branch.
  if (after === undefined || merge === undefined) return finishMerge(deps, row.id, mergeId);
  await finishOwnMerge(deps, row, { merge, metadata }, after);
}

function beginning(
  { now }: MergeDeps,
  { project, userId, choice }: MergeOrder,
  { row, mergeId }: Attempt,
  { judged, mergeCommit }: Readonly<{ judged: Mergeable; mergeCommit: string }>,
) {
  return {
    type: "BeginMerge",
    mergeId,
    strategy: choice.strategy,
    targetBranch: row.target_branch,
    targetBefore: ObjectId.parse(judged.targetHead),
    sourceCommit: row.source_commit,
    mergeCommit: ObjectId.parse(mergeCommit),
    removeSourceBranch: choice.removeSourceBranch,
    judged: {
      title: row.title,
      workInProgress: row.work_in_progress,
      rules: row.approval_rules,
      approverIds: judged.approvers.map(({ userId }) => userId),
    },
    projectId: project.id,
    by: userId,
    at: now().toISOString(),
  } as const;
}

async function abandon(
  { store, now, visible }: MergeDeps,
  { id }: MergeRequestRow,
  mergeId: string,
  metadata: EventMetadata,
): Promise<void> {
  const command = { type: "AbandonMerge", mergeId, at: now().toISOString() } as const;
  const own = { ...metadata, commandId: deterministicId(mergeId, "abandon") };
  await visible((await handle(store, mergeRequest, { id, command, metadata: own })).position);
}

type Mergeable = Judgement & Readonly<{ targetHead: string }>;

async function mustBeMergeable(
  deps: MergeDeps,
  { project, role, userId, choice }: MergeOrder,
  row: MergeRequestRow,
): Promise<Mergeable> {
  mustBeOpen(row);
  const judge = mergeJudge(deps, project, { userId, role });
  const judgement = await judge(row, { strategy: choice.strategy });
  const broken = failureIn(judgement);
  if (broken !== undefined) throw await failed(deps, row, broken);
  const refused = refusalOf(judgement);
  if (refused !== undefined) throw refused;
  const { targetHead } = judgement;
  invariant(targetHead !== undefined, "Without a target branch a merge is refused");
  return { ...judgement, targetHead };
}

function mustBeOpen({ status }: Pick<MergeRequestRow, "status">): void {
  const over = notOpen(status);
  if (over !== undefined) throw over;
}

type Prepared = Omit<Making, "targetHead" | "message"> &
  Readonly<{ messageOn: (targetHead: string) => Promise<string> }>;

/** What the merge is made of, beside the head of the target. */
async function prepared(
  deps: MergeDeps,
  { project, userId, choice }: MergeOrder,
  row: MergeRequestRow,
): Promise<Prepared> {
  const { db, now, publicUrl } = deps;
  const [repository, { messages }, author, committer] = await Promise.all([
    deps.git.ensure(project.id, project.default_branch),
    mergeSettingsOf(db, project.id),
    accountIdent(db, row.author_id),
    accountIdent(db, userId),
  ]);
  const squashes = choice.strategy === "SQUASH";
  const own = squashes ? choice.squashCommitMessage : choice.mergeCommitMessage;
  const template = squashes ? messages.squashCommitMessage : messages.mergeCommitMessage;
  const subject = { db, repository, project, row, mergedById: userId, publicUrl };
  return {
    repository,
    strategy: choice.strategy,
    sourceCommit: row.source_commit,
    author: identLine(author, now()),
    committer: identLine(committer, now()),
    messageOn: async (targetHead) => own ?? filledMessage(template, { ...subject, targetHead }),
  };
}

/** @throws Refusal, see makeMerge; a request whose branches git cannot read has failed */
async function made(
  deps: MergeDeps,
  row: MergeRequestRow,
  { messageOn, ...making }: Prepared,
  targetHead: string,
): Promise<string> {
  try {
    return await makeMerge({ ...making, targetHead, message: () => messageOn(targetHead) });
  } catch (error) {
    if (!isFinalFailure(error)) throw mergeFailure(error);
    throw await failed(deps, row, error.message);
  }
}

/** Git cannot read what the branches hold: another attempt would end the same. */
async function failed(
  { store, now, visible }: MergeDeps,
  { id }: MergeRequestRow,
  reason: string,
): Promise<Refusal> {
  const at = now().toISOString();
  const commandId = deterministicId(id, "failed", at);
  const metadata = bySystem({ commandId }, at);
  const command = { type: "RecordFailure", reason, at } as const;
  await visible((await handle(store, mergeRequest, { id, command, metadata })).position);
  return new Refusal("unprocessable", mergeFailed, "Git could not merge the two branches.");
}
