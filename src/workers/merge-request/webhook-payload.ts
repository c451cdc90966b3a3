import { foldStream } from "../../commands/core/fold-stream.ts";
import { assignLocalId } from "../../commands/core/local-id.ts";
import { mergeRequest } from "../../commands/merge-request/merge-request.ts";
import type { ExistingMergeRequest } from "../../commands/merge-request/merge-request-state.ts";
import { decode } from "../../events/core/decode.ts";
import type { Recorded } from "../../events/core/event.ts";
import { bySystem } from "../../events/core/system.ts";
import {
  type MergeRequestEvent,
  mergeRequestEvents,
  mergeRequestStream,
} from "../../events/merge-request/merge-request.ts";
import { branchPrefix } from "../../events/repository/repository.ts";
import type { WebhookTopic } from "../../events/webhook/webhook.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import {
  findMergeRequestById,
  mergeRequestIdsOf,
} from "../../projections/merge-request/merge-request-query.ts";
import {
  columnsOf,
  mergeRequestStatusTitles,
} from "../../projections/merge-request/merge-request-row.ts";
import { findProjectById } from "../../projections/project/project.ts";
import { whoMovedRef } from "../../projections/repository/git-ref.ts";
import { projectRole } from "../../projections/team/member-role.ts";
import { findUserById } from "../../projections/user/user.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import { mergeJudge } from "../../services/merge-request/judge.ts";
import { noRequirements } from "../../services/merge-request/requirement.ts";
import type { PayloadBuilder } from "../webhook/payload.ts";

const topics: Partial<Readonly<Record<MergeRequestEvent["type"], WebhookTopic>>> = {
  MergeRequestOpened: "MERGE_REQUEST_CREATE",
  MergeRequestEdited: "MERGE_REQUEST_UPDATE",
  MergeRequestRetargeted: "MERGE_REQUEST_UPDATE",
  MergeRequestSourceMoved: "MERGE_REQUEST_UPDATE",
  MergeRequestApproved: "MERGE_REQUEST_ACCEPT",
  MergeRequestApprovalWithdrawn: "MERGE_REQUEST_UPDATE",
  MergeRequestReopened: "MERGE_REQUEST_UPDATE",
  MergeRequestFailed: "MERGE_REQUEST_UPDATE",
  MergeRequestClosed: "MERGE_REQUEST_CLOSE",
  MergeRequestCanceled: "MERGE_REQUEST_CANCEL",
  MergeRequestMerged: "MERGE",
  MergeRequestMergedByPush: "MERGE",
};

type Merge = Extract<
  Recorded<MergeRequestEvent>,
  { type: "MergeRequestMerged" | "MergeRequestMergedByPush" }
>;

const isMerge = (event: Recorded<MergeRequestEvent>): event is Merge =>
  topics[event.type] === "MERGE";

/** MERGE_REQUEST_* and MERGE, with the request as it was after the event. */
export const mergeRequestPayload: PayloadBuilder = {
  types: new Set(Object.keys(topics)),
  streams: async (projectId, { db }) =>
    (await mergeRequestIdsOf(db, projectId)).map((id) => mergeRequestStream(id)),
  async build(recorded, deps) {
    const event = decode(mergeRequestEvents, recorded);
    const topic = topics[event.type];
    const isUpTo = ({ revision }: Recorded) => revision <= event.revision;
    const then = await stateAt(event.stream, isUpTo, deps);
    if (topic === undefined || then === undefined) return undefined;
    return { projectId: then.state.projectId, topic, fields: () => fieldsOf(event, then, deps) };
  },
};

type StateThen = Readonly<{
  state: ExistingMergeRequest;
  /** Head of the target before it was merged, where that came later. */
  targetHead: string | undefined;
}>;

/** The request as it was once the events up to one had happened. */
async function stateAt(
  stream: string,
  isUpTo: (recorded: Recorded) => boolean,
  { store }: WorkerDeps,
): Promise<StateThen | undefined> {
  let state = mergeRequest.initialState;
  const onEvent = (recorded: Recorded, then: typeof state): void => {
    if (isUpTo(recorded)) state = then;
  };
  const last = await foldStream(store, mergeRequest, stream, { onEvent });
  if (state.status === "absent" || last.status === "absent") return undefined;
  const { targetBranch } = state;
  const { merged } = last;
  const targetHead = merged?.targetBranch === targetBranch ? merged.targetBefore : undefined;
  return { state, targetHead };
}

async function fieldsOf(event: Recorded<MergeRequestEvent>, then: StateThen, deps: WorkerDeps) {
  const { state } = then;
  const initiatorId = await initiatorOf(event, state, deps);
  const localId = await numberOf(event, state, deps);
  const { requirements, canMerge: could } = await judgedThen(then, localId, initiatorId, deps);
  const canMerge = state.status === "OPENED" && could;
  const fields = {
    merge_request: await payloadView(state, { localId, canMerge }, deps),
    merge_requirements: requirements,
  };
  if (event.type === "MergeRequestOpened") return fields;
  const initiator = await userOf(initiatorId, deps);
  return {
    ...fields,
    initiator,
    ...(isMerge(event) && { merge_commit: event.data.mergeCommit }),
  };
}

/** The fields of a request that every payload about it has. */
async function payloadView(
  state: ExistingMergeRequest,
  { localId, canMerge }: Readonly<{ localId: number | null; canMerge: boolean }>,
  { db, publicUrl }: WorkerDeps,
) {
  const project = await findProjectById(db, state.projectId);
  const projectPath = `${project?.owner_alias}/${project?.alias}`;
  return {
    id: state.mergeRequestId,
    local_id: localId,
    user_id: state.authorId,
    author_username: (await findUserById(db, state.authorId))?.alias ?? null,
    title: state.details.title,
    description: state.details.description,
    status: state.status,
    status_title: mergeRequestStatusTitles[state.status],
    source_project_id: state.sourceProjectId,
    source_commit: state.sourceCommit,
    source_branch: state.sourceBranch,
    target_project_id: state.projectId,
    target_branch: state.targetBranch,
    url: `${publicUrl}/project/${projectPath}/merge-request/${localId}`,
    can_merge: canMerge,
  };
}

/** Opening is sent for a request before its number is in the read models. */
async function numberOf(
  event: Recorded<MergeRequestEvent>,
  { mergeRequestId: subjectId, projectId }: ExistingMergeRequest,
  { store, db, now }: WorkerDeps,
): Promise<number | null> {
  const known = (await findMergeRequestById(db, subjectId))?.local_id;
  if (known !== undefined || event.type !== "MergeRequestOpened") return known ?? null;
  const clock = () => now().toISOString();
  const subject = { kind: "MERGE_REQUEST", projectId, subjectId } as const;
  const commandId = deterministicId("number merge request", subjectId);
  const toNumber = { ...subject, createdPosition: event.position };
  const metadata = bySystem({ commandId }, clock());
  return (await assignLocalId({ store, now: clock }, toNumber, metadata)).localId;
}

/**
 * Whether the initiator of the event could merge the request as it was then: its version, draft, rules and approvals;
 * had it been open where it was closed, canceled or failed. The target branch, pipelines, rights and the configuration are those of now, but the head of the target
 * is the one before the merge.
 */
async function judgedThen(
  { state, targetHead }: StateThen,
  localId: number | null,
  userId: string | null,
  { db, git }: WorkerDeps,
) {
  const project = await findProjectById(db, state.projectId);
  if (project === undefined) return { requirements: noRequirements, canMerge: false };
  const judged = {
    id: state.mergeRequestId,
    status: state.status === "MERGED" ? ("MERGED" as const) : ("OPENED" as const),
    project_id: state.projectId,
    // No pipeline belongs to a request without a number.
    local_id: localId ?? 0,
    source_project_id: state.sourceProjectId,
    source_commit: state.sourceCommit,
    target_branch: state.targetBranch,
    is_draft: columnsOf(state.details).is_draft,
    squash_commit: state.details.squashCommit,
    author_id: state.authorId,
    approval_rules: state.rules,
  };
  const judge = mergeJudge({ db, git }, project, {
    userId,
    role: await projectRole(db, project, userId),
  });
  return judge(judged, { targetHead, approverIds: state.approverIds });
}

async function initiatorOf(
  event: Recorded<MergeRequestEvent>,
  { sourceProjectId, sourceBranch }: ExistingMergeRequest,
  { db }: WorkerDeps,
): Promise<string | null> {
  if (isMerge(event)) return event.data.mergedById;
  const { type, data, metadata } = event;
  if (type !== "MergeRequestSourceMoved") return metadata.actor.userId;
  return whoMovedRef(db, sourceProjectId, branchPrefix + sourceBranch, data.sourceCommit);
}

async function userOf(id: string | null, { db }: WorkerDeps) {
  return { id, name: id === null ? null : ((await findUserById(db, id))?.alias ?? null) };
}

/** For payloads about what happens on a request: as it was at a position of the log. */
export async function requestOf(mergeRequestId: string, position: bigint, deps: WorkerDeps) {
  const isUpTo = (recorded: Recorded) => recorded.position <= position;
  const then = await stateAt(mergeRequestStream(mergeRequestId), isUpTo, deps);
  if (then === undefined) return null;
  const { state } = then;
  const localId = (await findMergeRequestById(deps.db, mergeRequestId))?.local_id ?? null;
  const canMerge =
    state.status === "OPENED" && (await judgedThen(then, localId, state.authorId, deps)).canMerge;
  return payloadView(state, { localId, canMerge }, deps);
}
