import type { UserId } from "../../events/core/ids.ts";
import {
  pipelineVariableEvents,
  pipelineVariableStream,
  type VariableParent,
  type VariableSettings,
} from "../../events/pipeline/variable.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";

/** More than anybody keeps; every job of the parent may get all of them. */
export const variablesMax = 1_000;

type Within = Readonly<{
  variableId: string;
  parentId: string;
  parentType: VariableParent;
  by: UserId;
  at: string;
}>;

export type PipelineVariableCommand = Within &
  Readonly<
    | { type: "CreateVariable"; settings: VariableSettings }
    | { type: "ChangeVariable"; change: Partial<VariableSettings> }
    | { type: "DeleteVariable" }
  >;

/** By id; a deleted one is null. */
export type PipelineVariableState = ReadonlyMap<string, VariableSettings | null>;

export const pipelineVariable: Slice<
  PipelineVariableState,
  PipelineVariableCommand,
  typeof pipelineVariableEvents
> = {
  events: pipelineVariableEvents,
  stream: pipelineVariableStream,
  initialState: new Map(),

  decide(state, command) {
    const { variableId, parentId, parentType, by, at } = command;
    const variable = { variableId, parentId, parentType };
    switch (command.type) {
      case "CreateVariable": {
        const { settings } = command;
        if (state.has(variableId)) return [];
        mustBeFree(state, variableId, settings);
        if ([...state.values()].filter((each) => each !== null).length >= variablesMax) {
          const message = `There are ${variablesMax} variables already.`;
          throw new Refusal("unprocessable", "variable.too_many", message);
        }
        const data = { ...variable, settings, createdById: by, createdAt: at };
        return [{ type: "PipelineVariableCreated", data }];
      }
      case "ChangeVariable": {
        const before = mustExist(state, variableId);
        const settings = { ...before, ...command.change };
        mustBeFree(state, variableId, settings);
        const data = { ...variable, settings, changedById: by, changedAt: at };
        return [{ type: "PipelineVariableChanged", data }];
      }
      case "DeleteVariable": {
        if (state.get(variableId) === null) return [];
        const { key } = mustExist(state, variableId);
        const data = { ...variable, key, deletedById: by, deletedAt: at };
        return [{ type: "PipelineVariableDeleted", data }];
      }
      default:
        return unreachable(command);
    }
  },

  evolve(state, event) {
    const next = new Map(state);
    const isDeleted = event.type === "PipelineVariableDeleted";
    next.set(event.data.variableId, isDeleted ? null : event.data.settings);
    return next;
  },
};

function mustBeFree(
  state: PipelineVariableState,
  variableId: string,
  { key, environmentScope }: VariableSettings,
): void {
  for (const [id, other] of state) {
    if (id === variableId || other === null) continue;
    if (other.key !== key || other.environmentScope !== environmentScope) continue;
    const message = `There is a variable ${key} for these environments already.`;
    throw new Refusal("unprocessable", "variable.exists", message);
  }
}

function mustExist(state: PipelineVariableState, variableId: string): VariableSettings {
  const found = state.get(variableId);
  if (found !== undefined && found !== null) return found;
  throw variableNotFound();
}

export function variableNotFound(): Refusal {
  return new Refusal("not_found", "variable.not_found", "Variable not found.");
}
