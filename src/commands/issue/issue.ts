import type { ObjectId, ProjectId, UserId } from "../../events/core/ids.ts";
import {
  type IssueChanges,
  type IssueDetails,
  type IssueEvent,
  type IssueId,
  type IssueStatus,
  issueEvents,
  issueStream,
} from "../../events/issue/issue.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";
import { defined } from "../core/defined.ts";

/** The project that the request names; an issue of another project does not exist for it. */
type Within = Readonly<{ projectId: ProjectId; by: UserId; at: string }>;

export type IssueCommand =
  | (Readonly<{ type: "CreateIssue"; issueId: IssueId; details: IssueDetails }> & Within)
  /** Fields that are left out stay. */
  | (Readonly<{ type: "EditIssue"; changes: IssueChanges }> & Within)
  /** What comes too late changes nothing. Of an issue that is over, the commit is recorded alone. */
  | (Readonly<{ type: "CloseIssueByCommit"; commitId: ObjectId }> & Within)
  | (Readonly<{ type: "DeleteIssue" }> & Within);

type Existing = Readonly<{
  status: "created";
  projectId: ProjectId;
  details: IssueDetails;
  /** A commit closes an issue once, also when the issue was over by then or is reopened afterwards. */
  closedByCommits: ReadonlySet<ObjectId>;
}>;

export type IssueState =
  | Readonly<{ status: "absent" }>
  | Readonly<{ status: "deleted"; projectId: ProjectId }>
  | Existing;

export const issue: Slice<IssueState, IssueCommand, typeof issueEvents> = {
  events: issueEvents,
  stream: issueStream,
  initialState: { status: "absent" },

  decide(state, command) {
    const { projectId, by, at } = command;
    switch (command.type) {
      case "CreateIssue": {
        if (state.status !== "absent") {
          throw new Refusal("conflict", "issue.exists", "This issue already exists.");
        }
        const { issueId, details } = command;
        const data = { issueId, projectId, ...details, createdById: by, createdAt: at };
        return [{ type: "IssueCreated", data }];
      }
      case "EditIssue":
        return edit(mustExist(state, command), command);
      case "CloseIssueByCommit":
        return closeByCommit(state, command);
      case "DeleteIssue": {
        // A repeated deletion changes nothing.
        if (state.status === "deleted" && state.projectId === projectId) return [];
        const { title } = mustExist(state, command).details;
        return [
          { type: "IssueDeleted", data: { projectId, title, deletedById: by, deletedAt: at } },
        ];
      }
      default:
        return unreachable(command);
    }
  },

  evolve(state, event) {
    switch (event.type) {
      case "IssueCreated": {
        const { issueId, projectId, createdById, createdAt, ...details } = event.data;
        return { status: "created", projectId, details, closedByCommits: new Set() };
      }
      case "IssueEdited":
        if (state.status !== "created") return state;
        return { ...state, details: { ...state.details, ...defined(event.data.details) } };
      case "IssueClosedByCommit": {
        if (state.status !== "created") return state;
        const closedByCommits = new Set(state.closedByCommits).add(event.data.commitId);
        const details = { ...state.details, status: event.data.status };
        return { ...state, details, closedByCommits };
      }
      case "IssueClosingCommitFound": {
        if (state.status !== "created") return state;
        return {
          ...state,
          closedByCommits: new Set(state.closedByCommits).add(event.data.commitId),
        };
      }
      case "IssueDeleted":
        return { status: "deleted", projectId: event.data.projectId };
      default:
        return unreachable(event);
    }
  },
};

/** Work on it has ended. */
const isOver = (status: IssueStatus): boolean => status === "CLOSED" || status === "COMPLETED";

export function issueNotFound(): Refusal {
  return new Refusal("not_found", "issue.not_found", "Issue not found.");
}

type Command<Type extends IssueCommand["type"]> = Extract<IssueCommand, { type: Type }>;

function edit(
  { details: before }: Existing,
  { projectId, changes, by: editedById, at: editedAt }: Command<"EditIssue">,
): readonly IssueEvent[] {
  const fields = (Object.keys(changes) as (keyof IssueDetails)[]).filter(
    (field) => changes[field] !== undefined && !same(changes[field], before[field]),
  );
  if (fields.length === 0) return [];
  const details = pick(changes, fields);
  const previousDetails = pick(before, fields);
  return [
    { type: "IssueEdited", data: { projectId, details, previousDetails, editedById, editedAt } },
  ];
}

function closeByCommit(
  state: IssueState,
  { projectId, commitId, by: closedById, at: closedAt }: Command<"CloseIssueByCommit">,
): readonly IssueEvent[] {
  if (state.status !== "created" || state.projectId !== projectId) return [];
  const { status: previousStatus } = state.details;
  if (state.closedByCommits.has(commitId)) return [];
  if (isOver(previousStatus)) {
    const data = { projectId, commitId, pushedById: closedById, foundAt: closedAt };
    return [{ type: "IssueClosingCommitFound", data }];
  }
  const status = "CLOSED" as const;
  const data = { projectId, commitId, status, previousStatus, closedById, closedAt };
  return [{ type: "IssueClosedByCommit", data }];
}

function mustExist(state: IssueState, { projectId }: Within): Existing {
  if (state.status === "created" && state.projectId === projectId) return state;
  throw issueNotFound();
}

function pick(from: IssueChanges, fields: readonly (keyof IssueDetails)[]): IssueChanges {
  return defined(Object.fromEntries(fields.map((field) => [field, from[field]])));
}

/** Assignees and labels are sets: their order means nothing. An optional field that is left out is like false. */
function same(one: unknown, other: unknown): boolean {
  const sorted = (value: unknown) => (Array.isArray(value) ? [...value].sort() : (value ?? false));
  return JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
}
