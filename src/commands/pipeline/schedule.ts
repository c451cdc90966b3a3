import type { ProjectId, UserId } from "../../events/core/ids.ts";
import {
  type PipelineScheduleEvent,
  pipelineScheduleEvents,
  pipelineScheduleStream,
  type ScheduleSettings,
} from "../../events/pipeline/schedule.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Decider, Slice } from "../core/decider.ts";

type Within = Readonly<{ scheduleId: string; projectId: ProjectId; at: string }>;

export type PipelineScheduleCommand = Within &
  Readonly<
    /** @param nextRunAt computed from cron and time zone; null while it is not active */
    | {
        type: "CreateSchedule" | "ChangeSchedule";
        settings: ScheduleSettings;
        nextRunAt: string | null;
        by: UserId;
      }
    | { type: "RecordScheduleRun"; dueAt: string; nextRunAt: string | null }
    | { type: "TurnOffSchedule" }
    | { type: "DeleteSchedule"; by: UserId }
  >;

export type PipelineScheduleState =
  | Readonly<{ kind: "absent" | "deleted" }>
  | Readonly<{ kind: "existing"; projectId: ProjectId; active: boolean; nextRunAt: string | null }>;

const decider: Decider<PipelineScheduleState, PipelineScheduleCommand, PipelineScheduleEvent> = {
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
        mustExist(state, command);
        const { settings, nextRunAt, by: changedById } = command;
        const data = { ...schedule, settings, nextRunAt, changedById, changedAt: at };
        return [{ type: "PipelineScheduleChanged", data }];
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
        if (state.kind !== "existing" || !state.active) return [];
        return [{ type: "PipelineScheduleTurnedOff", data: { ...schedule, turnedOffAt: at } }];
      case "DeleteSchedule": {
        if (state.kind === "deleted") return [];
        mustExist(state, command);
        const data = { ...schedule, deletedById: command.by, deletedAt: at };
        return [{ type: "PipelineScheduleDeleted", data }];
      }
      default:
        return unreachable(command);
    }
  },

  evolve(state, event) {
    switch (event.type) {
      case "PipelineScheduleCreated":
      case "PipelineScheduleChanged": {
        const { projectId, settings, nextRunAt } = event.data;
        return { kind: "existing", projectId, active: settings.active, nextRunAt };
      }
      case "PipelineScheduleRan":
        return state.kind === "existing" ? { ...state, nextRunAt: event.data.nextRunAt } : state;
      case "PipelineScheduleTurnedOff":
        return state.kind === "existing" ? { ...state, active: false, nextRunAt: null } : state;
      case "PipelineScheduleDeleted":
        return { kind: "deleted" };
      default:
        return unreachable(event);
    }
  },
};

export const pipelineSchedule: Slice<
  PipelineScheduleState,
  PipelineScheduleCommand,
  typeof pipelineScheduleEvents
> = { events: pipelineScheduleEvents, stream: pipelineScheduleStream, decider };

function mustExist(state: PipelineScheduleState, { projectId }: Within): void {
  if (state.kind === "existing" && state.projectId === projectId) return;
  throw scheduleNotFound();
}

export function scheduleNotFound(): Refusal {
  return new Refusal("not_found", "schedule.not_found", "Schedule not found.");
}
