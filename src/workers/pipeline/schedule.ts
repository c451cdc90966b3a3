import { z } from "zod";

import { handle } from "../../commands/core/handle.ts";
import { pipelineSchedule } from "../../commands/pipeline/schedule.ts";
import type { EventMetadata } from "../../events/core/event.ts";
import { ObjectId } from "../../events/core/ids.ts";
import { bySystem } from "../../events/core/system.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { nextRun } from "../../platform/time/cron.ts";
import {
  dueSchedules,
  findSchedule,
  type ScheduleRow,
} from "../../projections/pipeline/schedule.ts";
import { findProjectById } from "../../projections/project/project.ts";
import { findRef } from "../../projections/repository/git-ref.ts";
import type { WorkerDeps } from "../core/deps.ts";
import { defineWorker } from "../core/worker.ts";
import { mayRunOn } from "./ref-right.ts";
import { creationSeats, creationsAtOnce } from "./seat.ts";
import { startPipeline } from "./start.ts";

const queue = "pipeline-schedule";
const atOnce = 500;

/** A job for each schedule whose time has come. */
export async function sweepSchedules({ db, queues, now }: WorkerDeps): Promise<void> {
  const due = await dueSchedules(db, now(), atOnce);
  await queues.add(
    due.map(({ id, project_id: projectId, next_run_at }) => ({
      queue,
      id: `${id}-${next_run_at?.getTime()}`,
      data: { scheduleId: id, projectId, dueAt: next_run_at?.toISOString() },
    })),
  );
}

const Payload = z.object({
  scheduleId: z.uuid(),
  projectId: z.uuid(),
  dueAt: z.iso.datetime(),
});

/**
 * Starts the pipeline of a schedule that is due, and sets its next time first: a failed start is not
 * repeated until then. A schedule whose user may not start pipelines any more is turned off.
 */
export const scheduleWorker = defineWorker({
  queue,
  concurrency: creationsAtOnce,
  payload: Payload,
  async run(due, deps, signal) {
    const row = await findSchedule(deps.db, due.projectId, due.scheduleId);
    if (row === undefined) return;
    await creationSeats.run(() => runDue(due, deps), { caller: row.owner_id, signal });
  },
});

/** Reads the schedule once it has a seat: its user may lose rights while it waits. */
async function runDue(
  { scheduleId, projectId, dueAt }: z.output<typeof Payload>,
  deps: WorkerDeps,
): Promise<void> {
  const row = await findSchedule(deps.db, projectId, scheduleId);
  if (row?.next_run_at?.toISOString() !== dueAt || !row.active) return;
  const now = deps.now();
  const metadataOf = (step: string) => {
    const commandId = deterministicId("schedule", scheduleId, dueAt, step);
    return bySystem({ commandId }, now.toISOString());
  };
  const place = { scheduleId, projectId: row.project_id, at: now.toISOString() };
  if (!(await ownerMayStart(deps, row))) {
    const command = { type: "TurnOffSchedule", ...place } as const;
    const metadata = metadataOf("off");
    await handle(deps.store, pipelineSchedule, { id: scheduleId, command, metadata });
    return;
  }
  await runSchedule(deps, row, metadataOf("pipeline"));
  const nextRunAt = nextRun(row.cron, row.timezone, now)?.toISOString() ?? null;
  const command = { type: "RecordScheduleRun", ...place, dueAt, nextRunAt } as const;
  const order = { id: scheduleId, command, metadata: metadataOf("ran") };
  await handle(deps.store, pipelineSchedule, order);
}

async function ownerMayStart(deps: WorkerDeps, row: ScheduleRow): Promise<boolean> {
  const project = await findProjectById(deps.db, row.project_id);
  return project !== undefined && (await mayRunOn(deps, project, row.owner_id, refOf(row)));
}

/** What a schedule runs on. */
export const refOf = ({ ref, is_tag: isTag }: Pick<ScheduleRow, "ref" | "is_tag">) =>
  ({ ref, isTag, mergeRequest: null }) as const;

type RunDeps = Parameters<typeof startPipeline>[0];

/** @returns undefined when the branch, the tag or the project is gone */
export async function runSchedule(deps: RunDeps, row: ScheduleRow, metadata: EventMetadata) {
  const project = await findProjectById(deps.db, row.project_id);
  const found = await findRef(deps.db, row.project_id, row.is_tag ? "tag" : "branch", row.ref);
  if (project === undefined || !found?.commit_id) return undefined;
  const text = row.variables === null ? null : await deps.vault.open(row.variables);
  const variables = text === null ? {} : z.record(z.string(), z.string()).parse(JSON.parse(text));
  const origin = {
    ...refOf(row),
    commitId: ObjectId.parse(found.commit_id),
    beforeCommitId: null,
    source: "SCHEDULE",
    userId: row.owner_id,
    parent: null,
    startedBy: { kind: "SCHEDULE", id: row.id },
  } as const;
  return startPipeline(deps, { project, origin, variables, metadata });
}
