import type { ProjectId, UserId } from "../../events/core/ids.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import type { PipelineId } from "../../events/pipeline/id.ts";
import {
  type PipelineEvent,
  type PipelineOrigin,
  type PlannedJob,
  pipelineEvents,
  pipelineStream,
} from "../../events/pipeline/pipeline.ts";
import { isFinished, type PipelineStatus } from "../../events/pipeline/status.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";

/** The project a caller found the pipeline under; another one's does not exist for them. */
type Within = Readonly<{ pipelineId: PipelineId; projectId: ProjectId; at: string }>;

/** What its file made of it. */
export type PipelinePlan = Readonly<{
  variables: Sealed | null;
  name: string | null;
  autoCancel: "conservative" | "interruptible" | "none";
  cancelOnFailure?: boolean;
  /** How many jobs it has in all. */
  jobs: number;
  failureReason: string | null;
  /** What has no effect in its file. */
  warnings?: string[];
}>;

export type PipelineCommand = Within &
  Readonly<
    | ({ type: "CreatePipeline"; planned: readonly PlannedJob[] } & PipelinePlan & PipelineOrigin)
    /** Some more of its jobs. @param from place of the first of them */
    | { type: "PlanJobs"; from: number; planned: readonly PlannedJob[] }
    | {
        type: "FinishPipeline";
        status: PipelineStatus;
        durationSeconds: number;
        failureReason: string | null;
      }
    | { type: "RestartPipeline" | "CancelPipeline"; by: UserId | null }
    /** @param status of the pipeline, as the read model shows it */
    | { type: "DeletePipeline"; by: UserId | null; status: PipelineStatus }
  >;

export type PipelineState =
  | Readonly<{ kind: "absent" }>
  | Readonly<{
      kind: "existing";
      projectId: ProjectId;
      jobs: number;
      /** How many of them are planned. */
      planned: number;
      /** Null while it goes on. */
      finished: PipelineStatus | null;
      canceled: boolean;
    }>
  | Readonly<{ kind: "deleted"; projectId: ProjectId }>;

type Existing = Extract<PipelineState, { kind: "existing" }>;

export const pipeline: Slice<PipelineState, PipelineCommand, typeof pipelineEvents> = {
  events: pipelineEvents,
  stream: pipelineStream,
  initialState: { kind: "absent" },

  decide(state, command) {
    const { pipelineId, projectId, at } = command;
    const pipeline = { pipelineId, projectId };
    switch (command.type) {
      case "CreatePipeline":
        return create(state, command);
      case "PlanJobs": {
        const { planned } = mustExist(state, command);
        if (command.from < planned) return [];
        if (command.from > planned) throw new Error("Jobs are planned in order");
        return [planEvent(command, command.from)];
      }
      case "FinishPipeline": {
        if (mustExist(state, command).finished === command.status) return [];
        const { status, durationSeconds, failureReason } = command;
        const data = { ...pipeline, status, durationSeconds, failureReason, finishedAt: at };
        return [{ type: "PipelineFinished", data }];
      }
      case "RestartPipeline": {
        const { finished, canceled } = mustExist(state, command);
        if (finished === null && !canceled) return [];
        const data = { ...pipeline, restartedById: command.by, restartedAt: at };
        return [{ type: "PipelineRestarted", data }];
      }
      case "CancelPipeline": {
        const { finished, canceled } = mustExist(state, command);
        if (canceled && finished === null) return [];
        if (finished !== null) {
          const message = "The pipeline has ended.";
          throw new Refusal("unprocessable", "pipeline.finished", message);
        }
        const data = { ...pipeline, canceledById: command.by, canceledAt: at };
        return [{ type: "PipelineCanceled", data }];
      }
      case "DeletePipeline": {
        if (state.kind === "deleted" && state.projectId === projectId) return [];
        mustExist(state, command);
        if (!isFinished(command.status) && command.status !== "MANUAL") {
          const message = "A pipeline can be deleted once it has ended: cancel it first.";
          throw new Refusal("unprocessable", "pipeline.running", message);
        }
        const data = { ...pipeline, deletedById: command.by, deletedAt: at };
        return [{ type: "PipelineDeleted", data }];
      }
      default:
        return unreachable(command);
    }
  },

  evolve(state, event) {
    if (event.type === "PipelineCreated") {
      const { projectId, jobs } = event.data;
      return { kind: "existing", projectId, jobs, planned: 0, finished: null, canceled: false };
    }
    if (state.kind !== "existing") return state;
    switch (event.type) {
      case "PipelineJobsPlanned":
        return { ...state, planned: state.planned + event.data.jobs.length };
      case "PipelineFinished":
        return { ...state, finished: event.data.status };
      case "PipelineRestarted":
        return { ...state, finished: null, canceled: false };
      case "PipelineCanceled":
        return { ...state, canceled: true };
      case "PipelineDeleted":
        return { kind: "deleted", projectId: state.projectId };
      default:
        return unreachable(event);
    }
  },
};

type Of<Type extends PipelineCommand["type"]> = Extract<PipelineCommand, { type: Type }>;

function create(state: PipelineState, command: Of<"CreatePipeline">): readonly PipelineEvent[] {
  // The push or schedule behind it is worked on again after a crash.
  if (state.kind !== "absent") return [];
  const { type: _, planned, at, ...data } = command;
  const { pipelineId, projectId, failureReason } = command;
  const created: PipelineEvent = { type: "PipelineCreated", data: { ...data, createdAt: at } };
  if (failureReason !== null) {
    const end = { durationSeconds: 0, failureReason, finishedAt: at };
    const ended = { pipelineId, projectId, status: "FAILED", ...end } as const;
    return [created, { type: "PipelineFinished", data: ended }];
  }
  return planned.length === 0 ? [created] : [created, planEvent(command, 0)];
}

function planEvent(
  { pipelineId, projectId, planned, at }: Within & Readonly<{ planned: readonly PlannedJob[] }>,
  from: number,
): PipelineEvent {
  const data = { pipelineId, projectId, from, jobs: [...planned], plannedAt: at };
  return { type: "PipelineJobsPlanned", data };
}

function mustExist(state: PipelineState, { projectId }: Within): Existing {
  if (state.kind === "existing" && state.projectId === projectId) return state;
  throw pipelineNotFound();
}

export function pipelineNotFound(): Refusal {
  return new Refusal("not_found", "pipeline.not_found", "Pipeline not found.");
}
