import { isDeepStrictEqual } from "node:util";

import type { ProjectId, UserId } from "../../events/core/ids.ts";
import {
  type EditedDetails,
  type MergeRequestDetails,
  type MergeRequestEvent,
  mergeRequestEvents,
  mergeRequestStream,
} from "../../events/merge-request/merge-request.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";
import type {
  CommandOf,
  JudgedRequest,
  MergeRequestCommand,
  RefusedMerge,
} from "./merge-request-command.ts";
import {
  type BegunMerge,
  type ExistingMergeRequest,
  evolve,
  isExisting,
  type MergeRequestState,
} from "./merge-request-state.ts";

/** A merge that began this long ago is over, whatever became of it. */
const mergeMaxMs = 20_000;

type Events = readonly MergeRequestEvent[];

export const mergeRequest: Slice<
  MergeRequestState,
  MergeRequestCommand,
  typeof mergeRequestEvents
> = {
  events: mergeRequestEvents,
  stream: mergeRequestStream,
  initialState: { status: "absent" },
  evolve,

  decide(state, command) {
    switch (command.type) {
      case "OpenMergeRequest":
        return open(state, command);
      case "EditMergeRequest":
        return edit(mustBeIn(state, command), command);
      case "RecordSourceMove":
        return moveSource(mustExist(state), command);
      case "ToggleApproval":
        return toggleApproval(mustBeOpen(mustBeIn(state, command)), command);
      case "ReplaceApprovalRules":
        return replaceRules(mustBeOpen(mustBeIn(state, command)), command);
      case "CloseMergeRequest":
        return close(mustBeIn(state, command), command);
      case "ReopenMergeRequest":
        return reopen(mustBeIn(state, command), command);
      case "CancelMergeRequest":
        return cancel(mustBeIn(state, command), command);
      case "DeleteMergeRequestRefs":
        return deleteRefs(mustBeIn(state, command), command);
      case "SetAutoMerge":
        return setAutoMerge(mustBeOpen(mustBeIn(state, command)), command);
      case "ClearAutoMerge":
        return autoMergeCleared(mustExist(state), command.reason, command.at, refusalIn(command));
      case "BeginMerge":
        return beginMerge(mustBeOpen(mustBeIn(state, command)), command);
      case "AbandonMerge":
        return abandonMerge(mustExist(state), command);
      case "RecordMerge":
        return recordMerge(mustExist(state), command);
      case "RecordMergeByPush":
        return recordMergeByPush(mustExist(state), command);
      case "RecordFailure": {
        const { reason, at: failedAt } = command;
        const open = mustBeOpen(mustExist(state));
        const refusal = { code: "merge.failed", message: reason };
        return [
          ...autoMergeCleared(open, "REFUSED", failedAt, refusal),
          { type: "MergeRequestFailed", data: { reason, failedAt } },
        ];
      }
      default:
        return unreachable(command);
    }
  },
};

function open(state: MergeRequestState, command: CommandOf<"OpenMergeRequest">): Events {
  if (isExisting(state)) {
    throw new Refusal("conflict", "merge_request.exists", "This merge request already exists.");
  }
  const { type: _, by: openedById, at: openedAt, ...data } = command;
  return [{ type: "MergeRequestOpened", data: { ...data, openedById, openedAt } }];
}

function edit(state: ExistingMergeRequest, command: CommandOf<"EditMergeRequest">): Events {
  const { change, by, at } = command;
  const { targetBranch = state.targetBranch } = command;
  const mayEditFinal = state.status === "MERGED" && command.mayEditMerged;
  if (!mayEditFinal) mustNotBeFinal(state);
  const details = { ...state.details, ...change };
  const edited = JSON.stringify(details) !== JSON.stringify(state.details);
  const events: MergeRequestEvent[] = [];
  if (edited) {
    const { projectId, details: before } = state;
    const storedOf = details.description === before.description ? withoutText : whole;
    const sides = { details: storedOf(details), previousDetails: storedOf(before) };
    const data = { projectId, ...sides, editedById: by, editedAt: at };
    events.push({ type: "MergeRequestEdited", data });
  }
  if (targetBranch === state.targetBranch) return events;
  mustNotBeFinal(state);
  mustNotMerge(state, at);
  const previousTargetBranch = state.targetBranch;
  const data = { targetBranch, previousTargetBranch, retargetedById: by, retargetedAt: at };
  events.push({ type: "MergeRequestRetargeted", data });
  if (command.removesApprovals) events.push(...approvalsRemoved(state, "TARGET_CHANGED", at));
  return [...events, ...autoMergeCleared(state, "TARGET_CHANGED", at)];
}

function moveSource(state: ExistingMergeRequest, command: CommandOf<"RecordSourceMove">): Events {
  const { sourceCommit, removesApprovals, at: movedAt } = command;
  const previousSourceCommit = state.sourceCommit;
  // What happens to the branch of a request that is not open is none of its versions.
  if (state.status !== "OPENED" || sourceCommit === previousSourceCommit) return [];
  const inAll = command.broughtBytes && state.broughtBytes + command.broughtBytes;
  const brought = inAll ? { broughtBytes: inAll } : {};
  const data = { sourceCommit, previousSourceCommit, ...brought, movedAt };
  return [
    { type: "MergeRequestSourceMoved", data },
    ...(removesApprovals ? approvalsRemoved(state, "PUSH", movedAt) : []),
    ...autoMergeCleared(state, "PUSH", movedAt),
  ];
}

function approvalsRemoved(
  { approverIds }: ExistingMergeRequest,
  reason: "PUSH" | "TARGET_CHANGED",
  removedAt: string,
): Events {
  if (approverIds.size === 0) return [];
  const data = { approverIds: [...approverIds], reason, removedAt };
  return [{ type: "MergeRequestApprovalsRemoved", data }];
}

type ClearedReason = Extract<
  MergeRequestEvent,
  { type: "MergeRequestAutoMergeCleared" }
>["data"]["reason"];

function autoMergeCleared(
  { autoMerge }: ExistingMergeRequest,
  reason: ClearedReason,
  clearedAt: string,
  refusal?: RefusedMerge,
): Events {
  if (autoMerge === undefined) return [];
  const why = { reason, ...(refusal && { refusal }) };
  return [{ type: "MergeRequestAutoMergeCleared", data: { ...why, clearedAt } }];
}

const refusalIn = (command: CommandOf<"ClearAutoMerge">): RefusedMerge | undefined =>
  command.reason === "REFUSED" ? command.refusal : undefined;

function toggleApproval(
  { approverIds, sourceCommit }: ExistingMergeRequest,
  { by: approverId, at, seen = sourceCommit }: CommandOf<"ToggleApproval">,
): Events {
  if (seen !== sourceCommit) throw changedMeanwhile();
  return approverIds.has(approverId)
    ? [{ type: "MergeRequestApprovalWithdrawn", data: { approverId, withdrawnAt: at } }]
    : [{ type: "MergeRequestApproved", data: { approverId, sourceCommit, approvedAt: at } }];
}

function replaceRules(
  state: ExistingMergeRequest,
  { rules: given, by: replacedById, at: replacedAt }: CommandOf<"ReplaceApprovalRules">,
): Events {
  const rules = given === null ? null : [...given];
  if (JSON.stringify(rules) === JSON.stringify(state.rules)) return [];
  const data = { rules, replacedById, replacedAt };
  return [{ type: "MergeRequestApprovalRulesReplaced", data }];
}

function close(state: ExistingMergeRequest, { by, at }: CommandOf<"CloseMergeRequest">): Events {
  if (state.status === "CLOSED") return [];
  mustNotMerge(mustBeOpen(state), at);
  return [
    { type: "MergeRequestClosed", data: { closedById: by, closedAt: at } },
    ...autoMergeCleared(state, "CLOSED", at),
  ];
}

function reopen(state: ExistingMergeRequest, { by, at }: CommandOf<"ReopenMergeRequest">): Events {
  if (state.status === "OPENED") return [];
  mustNotBeFinal(state);
  if (state.refsDeleted) {
    const message = "The commits of the merge request were deleted: open another one.";
    throw new Refusal("unprocessable", "merge_request.refs_deleted", message);
  }
  return [{ type: "MergeRequestReopened", data: { reopenedById: by, reopenedAt: at } }];
}

function cancel(state: ExistingMergeRequest, { by, at }: CommandOf<"CancelMergeRequest">): Events {
  // Cancelling twice is not an error: the second request changes nothing.
  if (state.status === "CANCELED") return [];
  mustNotMerge(mustNotBeFinal(state), at);
  return [
    { type: "MergeRequestCanceled", data: { canceledById: by, canceledAt: at } },
    ...autoMergeCleared(state, "CLOSED", at),
  ];
}

/** Of a request that ended unmerged. Doing it twice changes nothing. */
function deleteRefs(
  { status, refsDeleted }: ExistingMergeRequest,
  { by: deletedById, at: deletedAt }: CommandOf<"DeleteMergeRequestRefs">,
): Events {
  if (status === "OPENED" || status === "MERGED") {
    const message = "Refs can be deleted of a merge request that ended without being merged.";
    throw new Refusal("conflict", "merge_request.not_ended", message);
  }
  if (refsDeleted) return [];
  return [{ type: "MergeRequestRefsDeleted", data: { deletedById, deletedAt } }];
}

function setAutoMerge(state: ExistingMergeRequest, command: CommandOf<"SetAutoMerge">): Events {
  const { sourceCommit, choice, by: setById, at: setAt } = command;
  mustBeAt(state, { sourceCommit });
  return [{ type: "MergeRequestAutoMergeSet", data: { sourceCommit, choice, setById, setAt } }];
}

function beginMerge(state: ExistingMergeRequest, command: CommandOf<"BeginMerge">): Events {
  const { type: _, projectId: __, by: begunById, at: begunAt, judged, ...data } = command;
  // A repetition would make another commit than the one that the log has under this id.
  if (state.begun.has(command.mergeId)) throw changedMeanwhile();
  mustBeAt(state, command);
  mustBeAsJudged(state, judged);
  mustNotMerge(state, begunAt);
  return [{ type: "MergeRequestMergeBegun", data: { ...data, begunById, begunAt } }];
}

function abandonMerge(
  { merging }: ExistingMergeRequest,
  { mergeId, at: abandonedAt }: CommandOf<"AbandonMerge">,
): Events {
  if (merging?.mergeId !== mergeId) return [];
  return [{ type: "MergeRequestMergeAbandoned", data: { mergeId, abandonedAt } }];
}

/** The target branch was moved: that holds whatever else happened to the request meanwhile. */
function recordMerge(
  { status, begun }: ExistingMergeRequest,
  { mergeId, at: mergedAt }: CommandOf<"RecordMerge">,
): Events {
  if (status === "MERGED") return [];
  const merge = begun.get(mergeId);
  if (merge === undefined) {
    throw new Refusal("conflict", "merge.unknown", "No such merge was begun.");
  }
  const { mergeCommit, begunById: mergedById } = merge;
  return [{ type: "MergeRequestMerged", data: { mergeId, mergeCommit, mergedById, mergedAt } }];
}

/** A push to the target was found to bring the source as it is now. */
function recordMergeByPush(
  state: ExistingMergeRequest,
  command: CommandOf<"RecordMergeByPush">,
): Events {
  const { type: _, by: mergedById, at: mergedAt, unmetRequirements, ...data } = command;
  if (state.status !== "OPENED") return [];
  mustBeAt(state, command);
  // How that merge ends decides: it may have moved the branch to the same commit.
  mustNotMerge(state, mergedAt);
  const unmet = { unmetRequirements: [...unmetRequirements] };
  return [{ type: "MergeRequestMergedByPush", data: { ...data, ...unmet, mergedById, mergedAt } }];
}

function mustExist(state: MergeRequestState): ExistingMergeRequest {
  if (isExisting(state)) return state;
  throw mergeRequestNotFound();
}

/** A request of another project is not found. */
function mustBeIn(
  state: MergeRequestState,
  { projectId }: Readonly<{ projectId: ProjectId; by: UserId }>,
): ExistingMergeRequest {
  const existing = mustExist(state);
  if (existing.projectId === projectId) return existing;
  throw mergeRequestNotFound();
}

function mustBeOpen(state: ExistingMergeRequest): ExistingMergeRequest {
  if (state.status === "OPENED") return state;
  mustNotBeFinal(state);
  throw new Refusal(
    "unprocessable",
    "merge_request.closed",
    "The merge request is closed; reopen it first.",
  );
}

function mustNotBeFinal(state: ExistingMergeRequest): ExistingMergeRequest {
  if (state.status === "OPENED" || state.status === "CLOSED") return state;
  const message = `The merge request is ${state.status.toLowerCase()}; that is final.`;
  throw new Refusal("unprocessable", "merge_request.final", message);
}

/** What the caller checked must still hold. */
function mustBeAt(
  state: ExistingMergeRequest,
  seen: Readonly<{ sourceCommit: string; targetBranch?: string }>,
): void {
  const { targetBranch = state.targetBranch } = seen;
  if (state.sourceCommit === seen.sourceCommit && state.targetBranch === targetBranch) return;
  throw changedMeanwhile();
}

/** A merge takes its time: what was withdrawn meanwhile counts. Approvals that came meanwhile do no harm. */
function mustBeAsJudged(state: ExistingMergeRequest, judged: JudgedRequest): void {
  const { details, approverIds, rules } = state;
  const isSame =
    details.title === judged.title &&
    details.workInProgress === judged.workInProgress &&
    isDeepStrictEqual(rules, judged.rules) &&
    judged.approverIds.every((id) => approverIds.has(id));
  if (!isSame) throw changedMeanwhile();
}

export function changedMeanwhile(): Refusal {
  const message = "The merge request changed at the same time. Look at it again.";
  return new Refusal("conflict", "merge_request.changed", message);
}

function mustNotMerge({ merging }: ExistingMergeRequest, at: string): void {
  if (merging === undefined || !isUnderWay(merging, Date.parse(at))) return;
  const message = "The merge request is being merged at this moment.";
  throw new Refusal("conflict", "merge.in_progress", message, { retryAfterSeconds: 1 });
}

/** Whether its process may still move the branch. */
export const isUnderWay = ({ begunAt }: BegunMerge, nowMs: number): boolean =>
  nowMs - Date.parse(begunAt) < mergeMaxMs;

export function mergeRequestNotFound(): Refusal {
  return new Refusal("not_found", "merge_request.not_found", "Merge request not found.");
}

const whole = (details: MergeRequestDetails): EditedDetails => details;

function withoutText({ description: _, ...rest }: MergeRequestDetails): EditedDetails {
  return rest;
}
