import { waitingPerUserMax } from "../../pipeline-file/compiler.ts";
import { Limit } from "../../platform/limit.ts";

/**
 * How many jobs that create a pipeline a worker takes at once. The half that one user has is two pushes of as many refs
 * as start pipelines.
 */
export const creationsAtOnce = 400;

/**
 * Pipelines that a process creates at once, of all queues whose jobs create pipelines, so that most of them wait for the
 * compiler.
 */
export const creationSlots = new Limit({
  name: "pipeline.creations",
  total: 2 * waitingPerUserMax,
  share: waitingPerUserMax,
  whenFull: "wait",
});
