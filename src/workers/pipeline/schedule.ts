import { z } from "zod";

import { handle } from "../../commands/core/handle.ts";
import { pipelineSchedule } from "../../commands/pipeline/schedule.ts";
import { bySystem } from "../../events/core/system.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { nextRun } from "../../platform/time/cron.ts";
import {
  dueSchedules,
  findSchedule,
  type ScheduleRow,
} from "../../projections/pipeline/schedule.ts";
import { findProjectById } from "../../projections/project/project.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import { mayRunOn } from "../../services/pipeline/ref-right.ts";
import { refOf, runSchedule } from "../../services/pipeline/run-schedule.ts";
import { defineWorker } from "../core/worker.ts";
import { creationSlots, creationsAtOnce } from "./creation-slot.ts";

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
    await creationSlots.run(() => runDue(due, deps), { caller: row.owner_id, signal });
  },
});

/** Reads the schedule once it has a slot: its user may lose rights while it waits. */
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
