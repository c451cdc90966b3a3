import type { EventMetadata } from "../../events/core/event.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import { type CommandResult, currentState, handle } from "../core/handle.ts";
import { assignLocalId, type Numbered } from "../core/local-id.ts";
import { mergeRequest } from "./merge-request.ts";
import type { CommandOf, MergeRequestCommand } from "./merge-request-command.ts";
import { releasePair, reservePair } from "./pair.ts";

export type MergeRequestDeps = Readonly<{ store: EventStore; now: () => string }>;

/** Which request, and the envelope of what happens to it. */
export type Change = Readonly<{ id: string; metadata: EventMetadata }>;

/**
 * May be repeated with the same request and command.
 *
 * @throws Refusal 422 `merge_request.pair_taken`
 */
export async function openMergeRequest(
  deps: MergeRequestDeps,
  change: Change,
  command: CommandOf<"OpenMergeRequest">,
): Promise<Numbered> {
  await reservePair(deps, change.id, command, change.metadata);
  const { position } = await handle(deps.store, mergeRequest, { ...change, command });
  if (position === undefined) throw new Error("an opened request has a position");
  const subject = { kind: "MERGE_REQUEST", projectId: command.projectId } as const;
  const toNumber = { ...subject, subjectId: change.id, createdPosition: position };
  return assignLocalId(deps, toNumber, change.metadata);
}

/**
 * Carries out a command that may change whether the request holds its pair of branches, and which.
 *
 * @throws Refusal 422 `merge_request.pair_taken`, and what the decider refuses
 */
export async function changeMergeRequest(
  deps: MergeRequestDeps,
  change: Change,
  command: MergeRequestCommand,
): Promise<CommandResult> {
  const { id, metadata } = change;
  const before = await currentState(deps.store, mergeRequest, id);
  if (before.status === "absent") return handle(deps.store, mergeRequest, { ...change, command });
  const { targetBranch = before.targetBranch } =
    command.type === "EditMergeRequest" ? command : before;
  const moves = targetBranch !== before.targetBranch && before.status === "OPENED";
  if (moves || (command.type === "ReopenMergeRequest" && before.status === "CLOSED")) {
    await reservePair(deps, id, { ...before, targetBranch }, metadata);
  }
  try {
    return await handle(deps.store, mergeRequest, { ...change, command });
  } finally {
    // Whatever came of the command, a pair that is not the request's is given back.
    const after = await currentState(deps.store, mergeRequest, id);
    const held = after.status === "OPENED" ? after.targetBranch : undefined;
    for (const branch of new Set([before.targetBranch, targetBranch])) {
      if (branch === held) continue;
      await releasePair(deps, id, { ...before, targetBranch: branch }, metadata);
    }
  }
}
