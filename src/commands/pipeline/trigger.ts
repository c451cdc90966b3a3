import type { ProjectId, UserId } from "../../events/core/ids.ts";
import { pipelineTriggerEvents, pipelineTriggerStream } from "../../events/pipeline/trigger.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";

type Within = Readonly<{ triggerId: string; projectId: ProjectId; by: UserId; at: string }>;

export type PipelineTriggerCommand = Within &
  Readonly<
    { type: "CreateTrigger"; description: string; tokenHash: string } | { type: "DeleteTrigger" }
  >;

export type PipelineTriggerState = Readonly<{
  kind: "absent" | "existing" | "deleted";
  projectId: ProjectId | null;
}>;

export const pipelineTrigger: Slice<
  PipelineTriggerState,
  PipelineTriggerCommand,
  typeof pipelineTriggerEvents
> = {
  events: pipelineTriggerEvents,
  stream: pipelineTriggerStream,
  initialState: { kind: "absent", projectId: null },

  decide(state, command) {
    const { triggerId, projectId, by, at } = command;
    const trigger = { triggerId, projectId };
    switch (command.type) {
      case "CreateTrigger": {
        if (state.kind !== "absent") return [];
        const { description, tokenHash } = command;
        const data = { ...trigger, description, tokenHash, createdById: by, createdAt: at };
        return [{ type: "PipelineTriggerCreated", data }];
      }
      case "DeleteTrigger":
        if (state.projectId !== projectId) throw triggerNotFound();
        if (state.kind === "deleted") return [];
        return [
          { type: "PipelineTriggerDeleted", data: { ...trigger, deletedById: by, deletedAt: at } },
        ];
      default:
        return unreachable(command);
    }
  },

  evolve(_state, { type, data }) {
    return {
      kind: type === "PipelineTriggerCreated" ? "existing" : "deleted",
      projectId: data.projectId,
    };
  },
};

export function triggerNotFound(): Refusal {
  return new Refusal("not_found", "trigger.not_found", "Trigger not found.");
}
