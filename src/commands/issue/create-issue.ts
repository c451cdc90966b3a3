import type { EventMetadata } from "../../events/core/event.ts";
import type { LocalId } from "../../events/core/local-id.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import { invariant } from "../../platform/invariant.ts";
import { handle } from "../core/handle.ts";
import { assignLocalId } from "../core/local-id.ts";
import { type IssueCommand, issue } from "./issue.ts";

export type IssueDeps = Readonly<{ store: EventStore; now: () => string }>;

export type CreatedIssue = Readonly<{ localId: LocalId; position: bigint }>;

type CreateIssue = Extract<IssueCommand, { type: "CreateIssue" }>;

/** Creates an issue and numbers it; may be repeated with the same issue and command. */
export async function createIssue(
  deps: IssueDeps,
  command: CreateIssue,
  metadata: EventMetadata,
): Promise<CreatedIssue> {
  const order = { id: command.issueId, command, metadata };
  const { position } = await handle(deps.store, issue, order);
  invariant(position !== undefined, "an issue was created");
  const { projectId, issueId: subjectId } = command;
  return assignLocalId(
    deps,
    { kind: "ISSUE", projectId, subjectId, createdPosition: position },
    metadata,
  );
}
