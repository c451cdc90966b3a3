import { pipelinesBusy, waitingPerUserMax } from "../../pipeline-file/compiler.ts";
import { Limit } from "../../platform/limit.ts";

/** Those of one user that are created or wait for a slot: two pushes of as many refs as start pipelines. */
const perUserMax = 200;
/** How many jobs that create a pipeline a worker takes at once: a user leaves as many to others. */
export const creationsAtOnce = 2 * perUserMax;

/**
 * Pipelines that a process creates at once, of all queues whose jobs create pipelines, so that most of them wait for the
 * compiler.
 */
export const creationSlots = new Limit({
  name: "pipeline.creations",
  total: 2 * waitingPerUserMax,
  share: waitingPerUserMax,
  whenFull: "wait",
  waitersShare: perUserMax - waitingPerUserMax,
  refusal: pipelinesBusy,
});
