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
/** Of all values together, as they are stored: sealed, they are longer by a third and more. */
const valuesLengthMax = 1.5 * 1024 ** 2;

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

export type PipelineVariableState = Readonly<{
  /** By id. */
  settings: ReadonlyMap<string, VariableSettings>;
  deleted: Deleted | undefined;
}>;

/** A list that takes one more without being copied: they may be any number. */
type Deleted = Readonly<{ variableId: string; before: Deleted | undefined }>;

export const pipelineVariable: Slice<
  PipelineVariableState,
  PipelineVariableCommand,
  typeof pipelineVariableEvents
> = {
  events: pipelineVariableEvents,
  stream: pipelineVariableStream,
  initialState: { settings: new Map(), deleted: undefined },

  decide(state, command) {
    const { variableId, parentId, parentType, by, at } = command;
    const variable = { variableId, parentId, parentType };
    switch (command.type) {
      case "CreateVariable": {
        const { settings } = command;
        if (state.settings.has(variableId) || isDeleted(state, variableId)) return [];
        mustBeFree(state, variableId, settings);
        if (state.settings.size >= variablesMax) {
          const message = `There are ${variablesMax} variables already.`;
          throw new Refusal("unprocessable", "variable.too_many", message);
        }
        mustHaveRoom(state, variableId, settings);
        const data = { ...variable, settings, createdById: by, createdAt: at };
        return [{ type: "PipelineVariableCreated", data }];
      }
      case "ChangeVariable": {
        const before = mustExist(state, variableId);
        const settings = { ...before, ...command.change };
        mustBeFree(state, variableId, settings);
        if (settings.value.length > before.value.length) mustHaveRoom(state, variableId, settings);
        const data = { ...variable, settings, changedById: by, changedAt: at };
        return [{ type: "PipelineVariableChanged", data }];
      }
      case "DeleteVariable": {
        if (isDeleted(state, variableId)) return [];
        const { key } = mustExist(state, variableId);
        const data = { ...variable, key, deletedById: by, deletedAt: at };
        return [{ type: "PipelineVariableDeleted", data }];
      }
      default:
        return unreachable(command);
    }
  },

  evolve(state, event) {
    const { variableId } = event.data;
    const settings = new Map(state.settings);
    if (event.type !== "PipelineVariableDeleted") {
      return { ...state, settings: settings.set(variableId, event.data.settings) };
    }
    settings.delete(variableId);
    return { settings, deleted: { variableId, before: state.deleted } };
  },
};

function isDeleted({ deleted }: PipelineVariableState, variableId: string): boolean {
  for (let each = deleted; each !== undefined; each = each.before) {
    if (each.variableId === variableId) return true;
  }
  return false;
}

/** What jobs are given, and their logs are searched for, takes a time of its length. */
function mustHaveRoom(
  { settings }: PipelineVariableState,
  variableId: string,
  { value }: VariableSettings,
): void {
  let length = value.length;
  for (const [id, other] of settings) if (id !== variableId) length += other.value.length;
  if (length <= valuesLengthMax) return;
  const message = "All variables together may hold a mebibyte. Keep large files elsewhere.";
  throw new Refusal("unprocessable", "variable.too_large", message);
}

function mustBeFree(
  state: PipelineVariableState,
  variableId: string,
  { key, environmentScope }: VariableSettings,
): void {
  for (const [id, other] of state.settings) {
    if (id === variableId) continue;
    if (other.key !== key || other.environmentScope !== environmentScope) continue;
    const message = `There is a variable ${key} for these environments already.`;
    throw new Refusal("unprocessable", "variable.exists", message);
  }
}

function mustExist(state: PipelineVariableState, variableId: string): VariableSettings {
  const found = state.settings.get(variableId);
  if (found !== undefined) return found;
  throw variableNotFound();
}

export function variableNotFound(): Refusal {
  return new Refusal("not_found", "variable.not_found", "Variable not found.");
}
