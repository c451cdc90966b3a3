import { z } from "zod";

import type { EventOf, EventSchemas } from "../core/event.ts";
import { IsoInstant, ObjectId, ProjectId, UserId, Uuid } from "../core/ids.ts";
import { streamName } from "../core/stream.ts";
import { LabelId } from "../label/label.ts";

export const IssueId = Uuid.brand("IssueId");
export type IssueId = z.output<typeof IssueId>;

/** Each can follow each. */
export const IssueStatus = z.enum(["OPEN", "IN_PROGRESS", "CLOSED", "COMPLETED"]);
export type IssueStatus = z.output<typeof IssueStatus>;

export const IssueDetails = z.object({
  title: z.string().min(1),
  description: z.string(),
  status: IssueStatus,
  assigneeIds: z.array(UserId).readonly(),
  labelIds: z.array(LabelId).readonly(),
});
export type IssueDetails = Readonly<z.output<typeof IssueDetails>>;

/** Some of the fields. */
export const IssueChanges = IssueDetails.partial();
export type IssueChanges = Readonly<z.output<typeof IssueChanges>>;

export const issueEvents = {
  /** Its number follows as LocalIdAssigned. */
  IssueCreated: IssueDetails.extend({
    issueId: IssueId,
    projectId: ProjectId,
    createdById: UserId,
    createdAt: IsoInstant,
  }),
  /** Both hold the same fields: those that changed. */
  IssueEdited: z.object({
    projectId: ProjectId,
    details: IssueChanges,
    previousDetails: IssueChanges,
    editedById: UserId,
    editedAt: IsoInstant,
  }),
  /** A commit with a closing word reached the default branch, alone or by a merged request. */
  IssueClosedByCommit: z.object({
    projectId: ProjectId,
    commitId: ObjectId,
    status: IssueStatus,
    previousStatus: IssueStatus,
    /** Who pushed or merged the commit. */
    closedById: UserId,
    closedAt: IsoInstant,
  }),
  /** The same while the issue was over already: the commit has had its turn, and closes it no more. */
  IssueClosingCommitFound: z.object({
    projectId: ProjectId,
    commitId: ObjectId,
    /** Who pushed or merged the commit. */
    pushedById: UserId,
    foundAt: IsoInstant,
  }),
  IssueDeleted: z.object({
    projectId: ProjectId,
    title: z.string(),
    deletedById: UserId,
    deletedAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

export type IssueEvent = EventOf<typeof issueEvents>;

export const issueStream = (id: string): string => streamName("issue", id);
