import { z } from "zod";

import type { CommandResult } from "../commands/handle.ts";
import { handle } from "../commands/handle.ts";
import { protection } from "../commands/protection.ts";
import { decode } from "../events/decode.ts";
import type { EventMetadata, Recorded } from "../events/event.ts";
import { type ProtectionEvent, protectionEvents, protectionStream } from "../events/protection.ts";
import { idInStream } from "../events/stream.ts";
import { deterministicId } from "../platform/deterministic-id.ts";
import { PermanentFailure } from "../platform/queue.ts";
import { projectsBelow } from "../projections/protection.ts";
import type { WorkerDeps } from "./deps.ts";
import type { Reactor } from "./reactor.ts";
import { defineWorker } from "./worker.ts";

const queue = "protection-apply";
const projectsAtOnce = 100;

type Requested = Recorded<Extract<ProtectionEvent, { type: "ProtectionApplyRequested" }>>;
type RuleToApply = Readonly<{
  id: string;
  rule: Extract<ProtectionEvent, { type: "ProtectionRuleCreated" }>["data"]["rule"];
}>;

/** Somebody wants the rules of a team or company to be those of its projects too. */
export const protectionApply: Reactor = {
  name: "protection-apply",
  types: new Set(["ProtectionApplyRequested"]),
  react: async (event) => {
    const { applyId } = protectionEvents.ProtectionApplyRequested.parse(event.data);
    return [{ queue, id: applyId, data: { applyId, parentId: idInStream(event.stream) } }];
  },
};

/**
 * Goes through all projects below, one command each, named after the request: begun again after a
 * crash, it changes nothing where it has been. The rules are those of the moment of the request.
 */
export const protectionApplyWorker = defineWorker({
  queue,
  concurrency: 2,
  payload: z.object({ applyId: z.uuid(), parentId: z.uuid() }),
  async run({ applyId, parentId }, deps, signal) {
    const { requested, rules } = await readRequest(deps, parentId, applyId);
    // The projects of before the request are all known then.
    await deps.visible(requested.position);
    let projects = 0;
    let after: string | undefined;
    for (;;) {
      const ids = await projectsBelow(deps.db, parentId, after, projectsAtOnce);
      for (const projectId of ids) {
        signal.throwIfAborted();
        await applyTo(deps, projectId, requested, rules);
      }
      projects += ids.length;
      after = ids.at(-1);
      if (ids.length < projectsAtOnce) break;
    }
    await finish(deps, requested, projects);
  },
});

/** @throws PermanentFailure when there was no such request */
async function readRequest({ store }: WorkerDeps, parentId: string, applyId: string) {
  let state = protection.decider.initialState;
  for await (const recorded of store.readStream(protectionStream(parentId))) {
    const event = decode(protectionEvents, recorded);
    if (event.type === "ProtectionApplyRequested" && event.data.applyId === applyId) {
      const { kind } = event.data;
      const rules = [...state.rules].map(([id, rule]) => ({ id, rule }));
      return { requested: event, rules: rules.filter(({ rule }) => rule.kind === kind) };
    }
    state = protection.decider.evolve(state, event);
  }
  throw new PermanentFailure(`No request ${applyId} to apply protection rules of ${parentId}`);
}

function applyTo(
  { store, now }: WorkerDeps,
  projectId: string,
  requested: Requested,
  rules: readonly RuleToApply[],
): Promise<CommandResult> {
  const { applyId, kind, parentId: fromId, requestedById: by } = requested.data;
  const command = {
    type: "ApplyRules",
    applyId,
    kind,
    fromId,
    parentId: projectId,
    parentType: "PROJECT",
    rules: rules.map(({ id, rule }) => ({
      ruleId: deterministicId(applyId, id, projectId),
      rule,
    })),
    by,
    at: now().toISOString(),
  } as const;
  const metadata = caused(requested, projectId, command.at);
  return handle(store, protection, { id: projectId, command, metadata });
}

async function finish(
  { store, now }: WorkerDeps,
  requested: Requested,
  projects: number,
): Promise<void> {
  const { applyId, kind, parentId } = requested.data;
  const at = now().toISOString();
  const command = { type: "FinishApply", applyId, kind, projects, at } as const;
  const metadata = caused(requested, "finish", at);
  await handle(store, protection, { id: parentId, command, metadata });
}

/** The same person's doing, by way of this request. */
function caused({ id, metadata }: Requested, step: string, at: string): EventMetadata {
  const commandId = deterministicId(metadata.commandId, step);
  return { ...metadata, causationId: id, commandId, occurredAt: at };
}
