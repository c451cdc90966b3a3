import { z } from "zod";

import { ObjectId } from "../../../events/core/ids.ts";
import { requirementNames } from "../../../services/merge-request/requirement.ts";
import { instant } from "../../core/schema.ts";
import { SelectorObject } from "../../core/selector.ts";
import { LabelView } from "../label/view.ts";
import { CommitView } from "../repository/commit-view.ts";
import { UserView } from "../user/view.ts";

const names: Readonly<Record<string, z.ZodBoolean>> = Object.fromEntries(
  requirementNames.map((name) => [name, z.boolean()]),
);

const MergeError = z
  .object({
    code: z.string(),
    message: z.string(),
    requirement: z.enum(requirementNames).optional().meta({
      description: "The one that is not met; absent where something else is in the way.",
    }),
    field: z.enum(requirementNames).optional().meta({ description: "The same." }),
    rule: z.string().optional().meta({ description: "Name of the approval rule." }),
  })
  .meta({ id: "MergeError" });

/** The version that the caller viewed. */
export const seenHead = () =>
  ObjectId.max(64)
    .nullish()
    .meta({
      examples: ["9fceb02d0ae598e95dc970b74767f19372d61af8"],
      description:
        "Full hash of the source's head that was viewed: 409 `merge_request.changed` when the head is another.",
    });

export const MergeRequestView = z
  .object({
    id: z.uuid(),
    localId: z.int(),
    title: z.string(),
    description: z.string(),
    removeSourceBranch: z.boolean(),
    squashCommit: z.boolean(),
    workInProgress: z.boolean().meta({
      description: "Also when the title begins with `Draft:` or `WIP:`.",
    }),
    assignedUsers: z.array(UserView),
    reviewers: z.array(UserView),
    labels: z.array(LabelView),
    sourceBranch: SelectorObject,
    targetBranch: SelectorObject,
    status: SelectorObject,
    createdBy: UserView,
    createdAt: instant(),
    updatedAt: instant(),
    sourceProject: SelectorObject,
    targetProject: SelectorObject,
    projectAlias: z.string(),
    userAlias: z.string().meta({ description: "Alias of the owner of the target project." }),
    canMerge: z.boolean().meta({
      description:
        "By the caller, now, by `/merge` without a body. False where `mergeErrors` lists anything.",
    }),
    mergeRequirements: z.object(names).meta({
      id: "MergeRequirements",
      description:
        "Of a merged request all are true. Of one that is closed, canceled or failed nothing is compared: all but WORK_NOT_IN_PROGRESS are false.",
    }),
    mergeErrors: z.array(MergeError).meta({
      description: "Everything that `/merge` without a body would be refused for.",
    }),
    hasCommonHistory: z.boolean().nullable().meta({
      description:
        "False: the two branches share no commit; they are merged all the same. Null where they are not compared: the request is not open, or a branch is missing.",
    }),
    hasConflicts: z.boolean(),
    conflicts: z.array(z.string()).meta({
      description:
        "Paths of files: the first 1,000 or 64 KiB of them, in lists of requests 100 or 8 KiB.",
    }),
    conflictsCount: z.int().meta({ description: "Of all files in conflict." }),
    hasLockConflicts: z.boolean(),
    lockConflicts: z.array(z.string()).meta({ description: "Paths of files others have locked." }),
    mergeWhenPipelineSucceeds: z.boolean(),
    autoMergeDropped: z
      .object({
        reason: z.enum(["PUSH", "TARGET_CHANGED", "CLOSED", "REFUSED"]),
        code: z.string().nullable().meta({ description: "Of the refusal." }),
        message: z.string(),
        droppedAt: instant(),
      })
      .nullable()
      .meta({
        id: "AutoMergeDropped",
        description:
          "Why a merge that waited for pipelines is not made any more, until another one waits.",
      }),
    mergedBy: UserView.nullable(),
    mergedAt: instant().nullable(),
    mergeCommit: CommitView.nullable(),
    failureReason: z.string().nullable(),
    refsDeleted: z.boolean().meta({
      description: "The project does not keep its commits any more: there are no changes to show.",
    }),
  })
  .meta({ id: "MergeRequest" });
