import { advancePipeline } from "./advance.ts";
import { cancelSuperfluous } from "./auto-cancel.ts";
import { createPipeline, type NewPipeline } from "./create.ts";

type StartDeps = Parameters<typeof createPipeline>[0] & Parameters<typeof advancePipeline>[0];

/**
 * Creates a pipeline, queues its first jobs, and ends older ones that it makes superfluous.
 *
 * @throws what `createPipeline` throws
 */
export async function startPipeline(deps: StartDeps, wanted: NewPipeline) {
  const created = await createPipeline(deps, wanted);
  if ("none" in created) return created;
  await deps.visible(created.position);
  const { commandId, correlationId } = wanted.metadata;
  const cause = { id: commandId, correlationId };
  const moved = await advancePipeline(deps, created.pipelineId, cause);
  const { source, isTag } = wanted.origin;
  if ((source === "PUSH" && !isTag) || source === "MERGE_REQUEST_EVENT") {
    await cancelSuperfluous(deps, created.pipelineId, cause);
  }
  return { ...created, position: moved ?? created.position };
}
