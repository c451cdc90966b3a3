import { z } from "zod";

import type { UserId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import { bySystem } from "../../events/core/system.ts";
import { repositoryEvents } from "../../events/repository/repository.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { Refusal } from "../../platform/refusal.ts";
import {
  environmentsOfBranch,
  expiredEnvironments,
  lastDeployment,
} from "../../projections/pipeline/environment-query.ts";
import type { EnvironmentRow } from "../../projections/pipeline/environment-table.ts";
import { findProjectById } from "../../projections/project/project.ts";
import { reaches } from "../../projections/protection/applicable.ts";
import { actingRole } from "../../projections/team/acting-role.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import { recordStop, stopEnvironment } from "../../services/pipeline/stop-environment.ts";
import type { Reactor } from "../core/reactor.ts";
import { defineWorker } from "../core/worker.ts";

const stoppedAtOnce = 100;

/**
 * Stops environments whose `auto_stop_in` is over, with the rights of who deployed last. One that
 * cannot be stopped does not keep the others from it.
 */
export async function sweepExpiredEnvironments(deps: WorkerDeps): Promise<void> {
  for (const row of await expiredEnvironments(deps.db, deps.now(), stoppedAtOnce)) {
    await stopByItself(deps, row, `${row.auto_stop_at?.getTime()}`).catch((error: unknown) =>
      deps.log.error({ err: error, environmentId: row.id }, "environment is not stopped"),
    );
  }
}

async function stopByItself(deps: WorkerDeps, row: EnvironmentRow, cause: string): Promise<void> {
  const last = await lastDeployment(deps.db, row);
  const commandId = deterministicId("stop environment", row.id, row.last_number ?? 0, cause);
  const metadata = bySystem({ commandId }, deps.now().toISOString());
  const initiator = { by: await deployer(deps, row, last?.user_id ?? null), metadata };
  try {
    await deps.visible(await stopEnvironment(deps, row, initiator, { force: false }));
  } catch (error) {
    if (!(error instanceof Refusal) || error.kind === "unavailable") throw error;
    // Who deployed may not stop it any more, or its job cannot run: it counts as stopped all the same.
    const repeated = { ...metadata, commandId: deterministicId(commandId, "by itself") };
    await deps.visible(await recordStop(deps, row, { by: null, metadata: repeated }));
  }
}

/** Who deployed, while they still may develop in the project; else null: no job runs in their name. */
async function deployer(
  { db }: WorkerDeps,
  row: EnvironmentRow,
  userId: UserId | null,
): Promise<UserId | null> {
  const project = userId && (await findProjectById(db, row.project_id));
  const role = project ? await actingRole(db, project, userId) : undefined;
  return role !== undefined && reaches(role, "DEVELOPER") ? userId : null;
}

const queue = "environment-stop";

/** An environment of a branch ends with the branch, where a job is named that stops it. */
export const environmentBranch: Reactor = {
  name: "environment-branch",
  types: new Set(["BranchDeleted"]),
  react: async ({ id, data, stream, position }) => {
    const { branch } = repositoryEvents.BranchDeleted.parse(data);
    const projectId = idInStream(stream);
    return [{ queue, id, data: { projectId, branch, causeId: id, position: String(position) } }];
  },
};

export const environmentStopWorker = defineWorker({
  queue,
  concurrency: 2,
  payload: z.object({
    projectId: z.uuid(),
    branch: z.string(),
    causeId: z.string(),
    position: z.string(),
  }),
  async run({ projectId, branch, causeId, position }, deps) {
    await deps.visible(BigInt(position));
    const failures: unknown[] = [];
    for (const row of await environmentsOfBranch(deps.db, projectId, branch, stoppedAtOnce)) {
      await stopByItself(deps, row, causeId).catch((error: unknown) => failures.push(error));
    }
    // The others are stopped; what failed is tried again.
    if (failures.length > 0) throw failures[0];
  },
});
