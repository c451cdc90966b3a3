import { z } from "zod";

import { handle } from "../../commands/core/handle.ts";
import { openMergeRequest } from "../../commands/merge-request/change-merge-request.ts";
import { mergeRequest } from "../../commands/merge-request/merge-request.ts";
import { decode } from "../../events/core/decode.ts";
import { EventMetadata, type PushWishes } from "../../events/core/event.ts";
import { MergeRequestId, ObjectId, UserId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import { headRefOf } from "../../events/merge-request/merge-request.ts";
import { repositoryEvents } from "../../events/repository/repository.ts";
import { makeServiceRef } from "../../git/service-ref.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { Refusal } from "../../platform/refusal.ts";
import { clipText, oneLineOf, storableText } from "../../platform/storable-text.ts";
import { approvalConfigurationOf } from "../../projections/merge-request/approval-rule.ts";
import { mergeSettingsOf } from "../../projections/merge-request/merge-setting.ts";
import { findProjectById, type ProjectRow } from "../../projections/project/project.ts";
import { reaches } from "../../projections/protection/applicable.ts";
import { findRef } from "../../projections/repository/git-ref.ts";
import { actingRole } from "../../projections/team/acting-role.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import type { Reactor } from "../core/reactor.ts";
import { defineWorker } from "../core/worker.ts";

const queue = "merge-request-push";
const titleLengthMax = 255;

/** Opens the merge requests of `git push -o merge_request.create`, one for each branch it moved. */
export const mergeRequestPush: Reactor = {
  name: "merge-request-push",
  types: new Set(["BranchCreated", "BranchUpdated"]),
  react: async (recorded) => {
    const { metadata, stream, id, position } = recorded;
    if (!metadata.push?.mergeRequest || metadata.actor.userId === null) return [];
    const { data, type } = decode(repositoryEvents, recorded);
    if (type !== "BranchCreated" && type !== "BranchUpdated") return [];
    const job = { projectId: idInStream(stream), branch: data.branch, metadata, eventId: id };
    return [{ queue, id, data: { ...job, position: String(position) } }];
  },
};

export const mergeRequestPushWorker = defineWorker({
  queue,
  concurrency: 2,
  payload: z.object({
    projectId: z.uuid(),
    branch: z.string(),
    metadata: EventMetadata,
    eventId: z.string(),
    position: z.string(),
  }),
  async run({ projectId, branch, metadata, eventId, position }, deps) {
    const { push, ...cause } = metadata;
    const by = UserId.safeParse(metadata.actor.userId);
    const wish = push?.mergeRequest;
    if (!wish || !by.success) return;
    await deps.visible(BigInt(position));
    const project = await findProjectById(deps.db, projectId);
    if (project === undefined) return;
    // Who pushed may have lost the right since, or been banned.
    const role = await actingRole(deps.db, project, by.data);
    if (role === undefined || !reaches(role, "DEVELOPER")) return;
    const envelope = { ...cause, causationId: eventId };
    try {
      await open({ project, branch, by: by.data, wish, eventId, metadata: envelope }, deps);
    } catch (error) {
      // One is open for the pair of branches already: the push is its newest version.
      if (!(error instanceof Refusal) || error.kind !== "unprocessable") throw error;
    }
  },
});

type Opening = Readonly<{
  project: ProjectRow;
  branch: string;
  by: UserId;
  wish: NonNullable<PushWishes["mergeRequest"]>;
  eventId: string;
  metadata: EventMetadata;
}>;

async function open(opening: Opening, deps: WorkerDeps): Promise<void> {
  const { project, branch, by, wish, eventId } = opening;
  const target = wish.target ?? project.default_branch;
  const source = await findRef(deps.db, project.id, "branch", branch);
  const isThere = await findRef(deps.db, project.id, "branch", target);
  const repository = await deps.git.find(project.id);
  if (!source || !isThere || !repository || target === branch) return;
  const sourceCommit = ObjectId.parse(source.object_id);
  const message = (await repository.objects.commit(sourceCommit))?.message ?? "";
  const wanted = oneLineOf(storableText(wish.title ?? message.trim().split("\n")[0] ?? ""));
  const title = clipText(wanted, titleLengthMax) || branch;
  const at = deps.now().toISOString();
  const id = MergeRequestId.parse(deterministicId("merge request of push", eventId));
  const command = {
    type: "OpenMergeRequest",
    mergeRequestId: id,
    projectId: project.id,
    sourceProjectId: project.id,
    sourceBranch: branch,
    targetBranch: target,
    sourceCommit,
    details: await detailsOf(opening, title, deps),
    by,
    at,
  } as const;
  const own = (step: string) => ({
    ...opening.metadata,
    commandId: deterministicId("push option", step, eventId),
  });
  const processDeps = { store: deps.store, now: () => at };
  const change = { id, metadata: own("open") };
  const { localId, position } = await openMergeRequest(processDeps, change, command);
  await makeServiceRef(repository, headRefOf(localId), sourceCommit);
  await deps.visible(position);
  if (wish.mergeWhenPipelineSucceeds) {
    const choice = await choiceOf(project, command.details.removeSourceBranch, deps);
    const within = { projectId: project.id, by, at };
    const wait = { type: "SetAutoMerge", sourceCommit, choice, ...within } as const;
    await handle(deps.store, mergeRequest, { id, command: wait, metadata: own("await") });
  }
}

async function detailsOf({ project, wish }: Opening, title: string, { db }: WorkerDeps) {
  const { messages } = await mergeSettingsOf(db, project.id);
  const configuration = await approvalConfigurationOf(db, { project });
  return {
    title,
    description: messages.mergeRequestDescriptionTemplate,
    removeSourceBranch: wish.removeSourceBranch ?? configuration.enableRemoveSourceBranchByDefault,
    squashCommit: false,
    workInProgress: wish.draft,
    assignedUserIds: [],
    reviewerIds: [],
    labelIds: [],
  };
}

async function choiceOf({ id }: ProjectRow, removeSourceBranch: boolean, { db }: WorkerDeps) {
  const { settings } = await mergeSettingsOf(db, id);
  const strategy = settings.squash === "ALWAYS" ? "SQUASH" : settings.mergeStrategy;
  const messages = { mergeCommitMessage: null, squashCommitMessage: null };
  return { strategy, removeSourceBranch, ...messages } as const;
}
