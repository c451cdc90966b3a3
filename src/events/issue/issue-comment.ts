import { z } from "zod";

import type { EventSchemas } from "../core/event.ts";
import { IsoInstant, ProjectId, UserId, Uuid } from "../core/ids.ts";
import { streamName } from "../core/stream.ts";
import { IssueId } from "./issue.ts";

export const IssueCommentId = Uuid.brand("IssueCommentId");
export type IssueCommentId = z.output<typeof IssueCommentId>;

/** A comment is a stream of its own, so that writing one does not read all others. */
export const issueCommentEvents = {
  IssueCommentCreated: z.object({
    issueCommentId: IssueCommentId,
    issueId: IssueId,
    projectId: ProjectId,
    message: z.string().min(1),
    createdById: UserId,
    createdAt: IsoInstant,
  }),
  IssueCommentEdited: z.object({
    issueId: IssueId,
    projectId: ProjectId,
    message: z.string().min(1),
    previousMessage: z.string(),
    editedById: UserId,
    editedAt: IsoInstant,
  }),
  IssueCommentDeleted: z.object({
    issueId: IssueId,
    projectId: ProjectId,
    message: z.string(),
    deletedById: UserId,
    deletedAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

export const issueCommentStream = (id: string): string => streamName("issueComment", id);
