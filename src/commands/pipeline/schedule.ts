import type { ProjectId, UserId } from "../../events/core/ids.ts";
import {
  pipelineScheduleEvents,
  pipelineScheduleStream,
  type ScheduleSettings,
} from "../../events/pipeline/schedule.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";
import { sameDestination } from "../core/destination.ts";

type Within = Readonly<{ scheduleId: string; projectId: ProjectId; at: string }>;

export type PipelineScheduleCommand = Within &
  Readonly<
    /** @param nextRunAt computed from cron and time zone; null while it is not active */
    | { type: "CreateSchedule"; settings: ScheduleSettings; nextRunAt: string | null; by: UserId }
    /** Variables that are left out stay. */
    | {
        type: "ChangeSchedule";
        settings: Omit<ScheduleSettings, "variables"> &
          Partial<Pick<ScheduleSettings, "variables">>;
        nextRunAt: string | null;
        by: UserId;
      }
    | { type: "TakeOverSchedule"; by: UserId }
    | { type: "RecordScheduleRun"; dueAt: string; nextRunAt: string | null }
    | { type: "TurnOffSchedule" }
    | { type: "DeleteSchedule"; by: UserId }
  >;

export type PipelineScheduleState = Readonly<{ kind: "absent" | "deleted" }> | Existing;

type Existing = Readonly<{
  kind: "existing";
  projectId: ProjectId;
  settings: ScheduleSettings;
  nextRunAt: string | null;
  ownerId: UserId;
  /** Who wrote the variables; nobody else knows their values. */
  variablesById: UserId;
}>;

export const pipelineSchedule: Slice<
  PipelineScheduleState,
  PipelineScheduleCommand,
  typeof pipelineScheduleEvents
> = {
  events: pipelineScheduleEvents,
  stream: pipelineScheduleStream,
  initialState: { kind: "absent" },

  decide(state, command) {
    const { scheduleId, projectId, at } = command;
    const schedule = { scheduleId, projectId };
    switch (command.type) {
      case "CreateSchedule": {
        if (state.kind !== "absent") return [];
        const { settings, nextRunAt, by: createdById } = command;
        const data = { ...schedule, settings, nextRunAt, createdById, createdAt: at };
        return [{ type: "PipelineScheduleCreated", data }];
      }
      case "ChangeSchedule": {
        const { settings: changed, nextRunAt, by: changedById } = command;
        const settings = {
          ...changed,
          variables: variablesAfter(mustOwn(state, command), command),
        };
        const data = { ...schedule, settings, nextRunAt, changedById, changedAt: at };
        return [{ type: "PipelineScheduleChanged", data }];
      }
      case "TakeOverSchedule": {
        const existing = mustExist(state, command);
        const { by: takenOverById } = command;
        if (existing.ownerId === takenOverById) return [];
        const variables = knownTo(existing, takenOverById);
        const data = { ...schedule, variables, takenOverById, takenOverAt: at };
        return [{ type: "PipelineScheduleTakenOver", data }];
      }
      case "RecordScheduleRun": {
        // It was changed, turned off, or recorded by another process in the meantime.
        if (state.kind !== "existing" || state.nextRunAt !== command.dueAt) return [];
        const { dueAt, nextRunAt } = command;
        return [
          { type: "PipelineScheduleRan", data: { ...schedule, dueAt, nextRunAt, ranAt: at } },
        ];
      }
      case "TurnOffSchedule":
        if (state.kind !== "existing" || !state.settings.active) return [];
        return [{ type: "PipelineScheduleTurnedOff", data: { ...schedule, turnedOffAt: at } }];
      case "DeleteSchedule": {
        if (state.kind === "deleted") return [];
        mustOwn(state, command);
        const data = { ...schedule, deletedById: command.by, deletedAt: at };
        return [{ type: "PipelineScheduleDeleted", data }];
      }
      default:
        return unreachable(command);
    }
  },

  evolve(state, event) {
    switch (event.type) {
      case "PipelineScheduleCreated": {
        const { projectId, settings, nextRunAt, createdById: ownerId } = event.data;
        return {
          kind: "existing",
          projectId,
          settings,
          nextRunAt,
          ownerId,
          variablesById: ownerId,
        };
      }
      case "PipelineScheduleChanged": {
        if (state.kind !== "existing") return state;
        const { settings, nextRunAt, changedById: ownerId } = event.data;
        const stay = settings.variables === state.settings.variables;
        const variablesById = stay ? state.variablesById : ownerId;
        return { ...state, settings, nextRunAt, ownerId, variablesById };
      }
      case "PipelineScheduleTakenOver": {
        if (state.kind !== "existing") return state;
        const { variables, takenOverById: ownerId } = event.data;
        const settings = { ...state.settings, variables };
        return { ...state, settings, ownerId, variablesById: ownerId };
      }
      case "PipelineScheduleRan":
        return state.kind === "existing" ? { ...state, nextRunAt: event.data.nextRunAt } : state;
      case "PipelineScheduleTurnedOff":
        if (state.kind !== "existing") return state;
        return { ...state, settings: { ...state.settings, active: false }, nextRunAt: null };
      case "PipelineScheduleDeleted":
        return { kind: "deleted" };
      default:
        return unreachable(event);
    }
  },
};

function mustExist(state: PipelineScheduleState, { projectId }: Within): Existing {
  if (state.kind === "existing" && state.projectId === projectId) return state;
  throw scheduleNotFound();
}

/** @throws Refusal 403 `schedule.not_owner` */
function mustOwn(
  state: PipelineScheduleState,
  command: Within & Readonly<{ by: UserId }>,
): Existing {
  const existing = mustExist(state, command);
  if (existing.ownerId === command.by) return existing;
  throw notOwner();
}

/** A person who cannot read the variables and has them sent to another branch or tag loses them. */
function variablesAfter(
  state: Existing,
  { settings, by }: Extract<PipelineScheduleCommand, { type: "ChangeSchedule" }>,
): ScheduleSettings["variables"] {
  if (settings.variables !== undefined) return settings.variables;
  const stays = sameDestination(state.settings, settings, ["ref", "isTag"]);
  return stays ? state.settings.variables : knownTo(state, by);
}

const knownTo = ({ settings, variablesById }: Existing, userId: UserId) =>
  variablesById === userId ? settings.variables : null;

export function notOwner(): Refusal {
  const message = "Only its owner may change, run or delete a schedule. Take it over first.";
  return new Refusal("forbidden", "schedule.not_owner", message);
}

export function scheduleNotFound(): Refusal {
  return new Refusal("not_found", "schedule.not_found", "Schedule not found.");
}
