import type { MergeRequestId, ObjectId, ProjectId, UserId } from "../../events/core/ids.ts";
import type { ApprovalRule } from "../../events/merge-request/approval-rule.ts";
import type {
  MergeRequestDetails,
  MergeRequestEvent,
} from "../../events/merge-request/merge-request.ts";
import { unreachable } from "../../platform/invariant.ts";
import { defined } from "../core/defined.ts";

export type MergeRequestStatus = "OPENED" | "MERGED" | "CLOSED" | "CANCELED" | "FAILED";

type EventData<Type extends MergeRequestEvent["type"]> = Extract<
  MergeRequestEvent,
  { type: Type }
>["data"];

export type BegunMerge = EventData<"MergeRequestMergeBegun">;

export type ExistingMergeRequest = Readonly<{
  status: MergeRequestStatus;
  mergeRequestId: MergeRequestId;
  projectId: ProjectId;
  sourceProjectId: ProjectId;
  sourceBranch: string;
  targetBranch: string;
  sourceCommit: ObjectId;
  authorId: UserId;
  details: MergeRequestDetails;
  /** In all, as far as it counts for the author. */
  broughtBytes: number;
  /** Nothing keeps its versions any more. */
  refsDeleted: boolean;
  approverIds: ReadonlySet<UserId>;
  /** Its own; null: those of the project. */
  rules: readonly ApprovalRule[] | null;
  autoMerge: EventData<"MergeRequestAutoMergeSet"> | undefined;
  /** Merges that were begun, by id: any of them may turn out to have been made. */
  begun: ReadonlyMap<string, BegunMerge>;
  /** The one that may still be under way. */
  merging: BegunMerge | undefined;
  /** How the target changed when it got what the source has; undefined before. */
  merged: Pick<BegunMerge, "targetBranch" | "targetBefore"> | undefined;
}>;

export type MergeRequestState = Readonly<{ status: "absent" }> | ExistingMergeRequest;

export const isExisting = (state: MergeRequestState): state is ExistingMergeRequest =>
  state.status !== "absent";

export function evolve(state: MergeRequestState, event: MergeRequestEvent): MergeRequestState {
  if (event.type === "MergeRequestOpened") {
    const { openedById, openedAt: _, ...data } = event.data;
    return {
      ...data,
      status: "OPENED",
      broughtBytes: data.broughtBytes ?? 0,
      refsDeleted: false,
      authorId: openedById,
      approverIds: new Set(),
      rules: null,
      autoMerge: undefined,
      begun: new Map(),
      merging: undefined,
      merged: undefined,
    };
  }
  return isExisting(state) ? { ...state, ...changeBy(state, event) } : state;
}

function changeBy(
  { approverIds, begun, broughtBytes, details }: ExistingMergeRequest,
  event: Exclude<MergeRequestEvent, { type: "MergeRequestOpened" }>,
): Partial<ExistingMergeRequest> {
  switch (event.type) {
    case "MergeRequestEdited":
      return { details: { ...details, ...defined(event.data.details) } };
    case "MergeRequestRetargeted":
      return { targetBranch: event.data.targetBranch };
    case "MergeRequestSourceMoved":
      return {
        sourceCommit: event.data.sourceCommit,
        broughtBytes: event.data.broughtBytes ?? broughtBytes,
      };
    case "MergeRequestApproved":
      return { approverIds: new Set(approverIds).add(event.data.approverId) };
    case "MergeRequestApprovalWithdrawn":
      return { approverIds: without(approverIds, [event.data.approverId]) };
    case "MergeRequestApprovalsRemoved":
      return { approverIds: without(approverIds, event.data.approverIds) };
    case "MergeRequestApprovalRulesReplaced":
      return { rules: event.data.rules };
    case "MergeRequestClosed":
      return { status: "CLOSED" };
    case "MergeRequestReopened":
      return { status: "OPENED" };
    case "MergeRequestCanceled":
      return { status: "CANCELED" };
    case "MergeRequestAutoMergeSet":
      return { autoMerge: event.data };
    case "MergeRequestAutoMergeCleared":
      return { autoMerge: undefined };
    case "MergeRequestMergeBegun": {
      const { data } = event;
      return { begun: new Map(begun).set(data.mergeId, data), merging: data };
    }
    case "MergeRequestMergeAbandoned":
      return { merging: undefined };
    case "MergeRequestMerged": {
      const merged = begun.get(event.data.mergeId);
      return { status: "MERGED", merging: undefined, autoMerge: undefined, merged };
    }
    case "MergeRequestMergedByPush":
      return { status: "MERGED", merging: undefined, autoMerge: undefined, merged: event.data };
    case "MergeRequestRefsDeleted":
      return { refsDeleted: true };
    case "MergeRequestFailed":
      return { status: "FAILED", merging: undefined, autoMerge: undefined };
    default:
      return unreachable(event);
  }
}

function without(ids: ReadonlySet<UserId>, removed: readonly UserId[]): ReadonlySet<UserId> {
  return new Set([...ids].filter((id) => !removed.includes(id)));
}
