import { z } from "zod";
import type { MergeChoice } from "../../../events/merge-request/merge-request.ts";
import { MergeStrategy } from "../../../events/merge-request/merge-setting.ts";
import type { MergeRequestRow } from "../../../projections/merge-request/merge-request-row.ts";
import { mergeSettingsOf } from "../../../projections/merge-request/merge-setting.ts";
import { mergeJudge } from "../../../services/merge-request/judge.ts";
import { merge } from "../../../services/merge-request/merge.ts";
import { withNewestSource } from "../../../services/merge-request/source.ts";
import { strategyOf } from "../../../services/merge-request/strategy.ts";
import { waitsForPipelines } from "../../../services/merge-request/waits-for-pipelines.ts";
import { projectStampOf } from "../../core/command-deps.ts";
import type { Deps } from "../../core/deps.ts";
import { type Route, route } from "../../core/route.ts";
import { bool, fieldRefusal } from "../../core/schema.ts";
import { changed } from "./change.ts";
import {
  at,
  findView,
  mustBeChangeable,
  mustFindMergeRequest,
  type Writing,
  writing,
} from "./place.ts";
import { MergeRequestView, seenHead } from "./schema.ts";

const messageLengthMax = 64 * 1024;
const Message = z.string().max(messageLengthMax).nullish();

const MergeBody = z
  .object({
    mergeStrategy: MergeStrategy.nullish().meta({
      description: "That of the project when not given.",
    }),
    squashCommit: bool().nullish().meta({ description: "True is the strategy SQUASH." }),
    mergeCommitMessage: Message,
    squashCommitMessage: Message,
    removeSourceBranch: bool().nullish(),
    mergeWhenPipelineSucceeds: bool().nullish().meta({
      description: "Where pipelines are all that is missing: merge as soon as they succeed.",
    }),
    sha: seenHead(),
  })
  .meta({ id: "Merge" });
type MergeBody = z.output<typeof MergeBody>;

const mergeMergeRequest = route({
  ...writing,
  method: "post",
  path: `${at}/{localId}/merge`,
  operationId: "mergeMergeRequest",
  summary: "Merge a merge request",
  description:
    "Once, whatever happens on the way. Without the right it is 403, a conflict 409 with the files, any other requirement that is not met 422.",
  body: MergeBody,
  reply: MergeRequestView,
  async handle({ params, body, request }, deps) {
    const row = await mustFindMergeRequest(deps, request, params.localId);
    const choice = await choiceOf(body, row, request, deps);
    if (body.mergeWhenPipelineSucceeds === true && (await waits(row, choice, request, deps))) {
      const sourceCommit = body.sha ?? (await withNewestSource(deps, row)).source_commit;
      const command = {
        type: "SetAutoMerge",
        sourceCommit,
        choice,
        ...projectStampOf(request, deps),
      } as const;
      return changed(row, command, request, deps);
    }
    await merge(deps, {
      mergeRequestId: row.id,
      project: request.project,
      role: request.role,
      userId: request.userId,
      metadata: await request.metadata(),
      choice,
      seen: body.sha ?? undefined,
    });
    return findView(deps, request, params.localId);
  },
});

const stopAutoMerge = route({
  ...writing,
  method: "delete",
  path: `${at}/{localId}/merge`,
  operationId: "stopAutoMerge",
  summary: "Do not merge when the pipeline succeeds",
  description: "By the author of the request or a developer.",
  reply: MergeRequestView,
  async handle({ params, request }, deps) {
    const row = await mustBeChangeable(deps, request, params.localId);
    const command = {
      type: "ClearAutoMerge",
      reason: "CANCELED",
      at: deps.now().toISOString(),
    } as const;
    return changed(row, command, request, deps);
  },
});

export const mergeRoutes: readonly Route[] = [mergeMergeRequest, stopAutoMerge];

async function waits(
  row: MergeRequestRow,
  { strategy }: MergeChoice,
  request: Writing,
  deps: Deps,
): Promise<boolean> {
  const newest = await withNewestSource(deps, row);
  return waitsForPipelines(await mergeJudge(deps, request.project, request)(newest, { strategy }));
}

/** @throws Refusal 422 for a strategy, a squash or a message that the project does not allow */
async function choiceOf(
  body: MergeBody,
  row: MergeRequestRow,
  { project }: Writing,
  { db }: Deps,
): Promise<MergeChoice> {
  const { settings, messages } = await mergeSettingsOf(db, project.id);
  const mergeCommitMessage = body.mergeCommitMessage?.trim() || null;
  const squashCommitMessage = body.squashCommitMessage?.trim() || null;
  const hasMessage = mergeCommitMessage !== null || squashCommitMessage !== null;
  if (hasMessage && !messages.canEditMergeCommitMessage) {
    const message = "The project's templates for messages cannot be overridden.";
    throw fieldRefusal("mergeCommitMessage", "merge.message_fixed", message);
  }
  return {
    strategy: strategyOf(body, row, settings),
    removeSourceBranch: body.removeSourceBranch ?? row.remove_source_branch,
    mergeCommitMessage,
    squashCommitMessage,
  };
}
