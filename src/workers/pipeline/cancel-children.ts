import { z } from "zod";
import { UserId } from "../../events/core/ids.ts";
import { bySystem } from "../../events/core/system.ts";
import { PipelineId } from "../../events/pipeline/id.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { openChildren } from "../../projections/pipeline/push.ts";
import type { PipelineRow } from "../../projections/pipeline/table.ts";
import { cancelPipeline, unlessEnded } from "../../services/pipeline/lifecycle.ts";
import type { AdvanceDeps, Cause } from "../../services/pipeline/order-job.ts";
import type { Reactor } from "../core/reactor.ts";
import { defineWorker } from "../core/worker.ts";

const queue = "pipeline-cancel-children";

/** A canceled pipeline cancels those that its jobs started in the same project, as in GitLab; they cancel theirs. */
export const canceledParents: Reactor = {
  name: queue,
  types: new Set(["PipelineCanceled"]),
  react: async ({ id, data, position }) => [
    {
      queue,
      id,
      data: {
        pipelineId: data["pipelineId"],
        by: data["canceledById"],
        causeId: id,
        position: String(position),
      },
    },
  ],
};

export const cancelChildrenWorker = defineWorker({
  queue,
  concurrency: 4,
  payload: z.object({
    pipelineId: PipelineId,
    by: UserId.nullable(),
    causeId: z.string(),
    position: z.string(),
  }),
  async run({ pipelineId, by, causeId, position }, deps) {
    await deps.visible(BigInt(position));
    const cause = { id: causeId, correlationId: pipelineId };
    for (const child of await openChildren(deps.db, pipelineId)) {
      await cancelChild(deps, child, by, cause);
    }
  },
});

/** Repeated, it does nothing more. */
export async function cancelChild(
  deps: AdvanceDeps,
  child: PipelineRow,
  by: UserId | null,
  cause: Cause,
): Promise<void> {
  const commandId = deterministicId(cause.id, "cancel child", child.id);
  const step = { commandId, correlationId: cause.correlationId, causationId: cause.id };
  const metadata = bySystem(step, deps.now().toISOString());
  await unlessEnded(() => cancelPipeline(deps, child, { by, metadata }));
}
