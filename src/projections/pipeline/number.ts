import type { EventOf } from "../../events/core/event.ts";
import type { localIdEvents } from "../../events/core/local-id.ts";
import type { JobId, PipelineId } from "../../events/pipeline/id.ts";
import { serviceNumberProject, serviceNumberSubject } from "../../events/pipeline/number.ts";
import { announce, type Change, change } from "../core/change.ts";
import { jobs, pipelines } from "./table.ts";

/** Numbers of pipelines, in their project and in the service, and of jobs. */
export function numbered({
  data: { projectId, kind, subjectId, localId: local_id },
}: EventOf<typeof localIdEvents>): readonly Change[] {
  if (kind === "JOB") return [change(jobs, { id: subjectId as JobId }, { local_id })];
  if (kind !== "PIPELINE") return [];
  if (projectId === serviceNumberProject) {
    const id = serviceNumberSubject(subjectId) as PipelineId;
    return [change(pipelines, { id }, { number: BigInt(local_id) })];
  }
  // Agents get no job of a pipeline before.
  return [change(pipelines, { id: subjectId as PipelineId }, { local_id }), announce("jobs")];
}
