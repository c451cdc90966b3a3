import { z } from "zod";

import type { EventSchemas } from "../core/event.ts";
import { IsoInstant, ProjectId, UserId } from "../core/ids.ts";
import { streamName } from "../core/stream.ts";

/**
 * - MERGE_COMMIT: a commit with both branches as parents;
 * - SQUASH: one commit on the target with all of the changes;
 * - FAST_FORWARD: the target moves to the head of the source, if it only moves forward so;
 * - REBASE: each commit of the source made again on the target.
 */
export const MergeStrategy = z.enum(["MERGE_COMMIT", "SQUASH", "FAST_FORWARD", "REBASE"]);
export type MergeStrategy = z.output<typeof MergeStrategy>;

export const MergeSettings = z.object({
  mergeStrategy: MergeStrategy,
  allowedStrategies: z.array(MergeStrategy),
  /** Whether a request may, or must, be squashed. */
  squash: z.enum(["NEVER", "ALLOWED", "ALWAYS"]),
});
export type MergeSettings = Readonly<z.output<typeof MergeSettings>>;

export const mergeSettingsDefault: MergeSettings = {
  mergeStrategy: "MERGE_COMMIT",
  allowedStrategies: [...MergeStrategy.options],
  squash: "ALLOWED",
};

/** Texts with variables, see docs/api/merge-request.md. */
export const MergeMessages = z.object({
  mergeCommitMessage: z.string(),
  squashCommitMessage: z.string(),
  mergeRequestDescriptionTemplate: z.string(),
  canEditMergeCommitMessage: z.boolean(),
});
export type MergeMessages = Readonly<z.output<typeof MergeMessages>>;

export const mergeMessagesDefault: MergeMessages = {
  mergeCommitMessage:
    "Merge branch '%{source_branch}' into '%{target_branch}'\n\n%{title}\n\nSee merge request %{reference}",
  squashCommitMessage: "%{title}",
  mergeRequestDescriptionTemplate: "",
  canEditMergeCommitMessage: true,
};

export const mergeSettingEvents = {
  MergeSettingsChanged: z.object({
    projectId: ProjectId,
    settings: MergeSettings,
    previousSettings: MergeSettings,
    changedById: UserId,
    changedAt: IsoInstant,
  }),
  MergeMessagesChanged: z.object({
    projectId: ProjectId,
    messages: MergeMessages,
    previousMessages: MergeMessages,
    changedById: UserId,
    changedAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

/** One a project. */
export const mergeSettingStream = (projectId: string): string =>
  streamName("mergeSetting", projectId);
