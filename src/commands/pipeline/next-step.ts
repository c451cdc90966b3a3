import type { JobWhen } from "../../events/pipeline/job-spec.ts";
import { isFinished, type PipelineStatus } from "../../events/pipeline/status.ts";

/** What decides when a job's turn comes. */
export type WaitingJob = Readonly<{
  id: string;
  name: string;
  stageIndex: number;
  status: PipelineStatus;
  when: JobWhen;
  /** Names of jobs; null: all of earlier stages. */
  needs: readonly string[] | null;
  /** Whether it may fail: a manual or canceled job that may is passed over by those behind it. */
  mayFail: boolean;
  /** A user started it, or its time has come. */
  released: boolean;
  /** When a delayed job is to be queued; null when that is not settled. */
  delayedUntil: Date | null;
}>;

export type Step = Readonly<{ jobId: string; step: "queue" | "hold" | "delay" | "skip" }>;

/**
 * What is to be done about jobs whose turn has come: of all jobs of a pipeline, those that are
 * CREATED. Skipping one may bring the turn of the next, so callers repeat this until it returns none.
 */
export function nextSteps(jobs: readonly WaitingJob[], now: Date): readonly Step[] {
  const byName = new Map(jobs.map((job) => [job.name, job]));
  const stages = outcomesOfStages(jobs);
  return jobs.flatMap((job): readonly Step[] => {
    if (job.status !== "CREATED") return [];
    const outcome =
      job.needs === null
        ? (stages.get(job.stageIndex) ?? "passed")
        : outcomeOf(
            job.needs.flatMap((name) => byName.get(name) ?? []),
            true,
          );
    const step = stepFor(job, outcome, now);
    return step === undefined ? [] : [{ jobId: job.id, step }];
  });
}

/**
 * What is to be done after the success of a job that others wait for by name, from these others and all that they need.
 *
 * @returns undefined where more than that decides: a step lets other jobs begin at once, or a failed job may be retried
 */
export function stepsAfterSuccess(
  name: string,
  jobs: readonly WaitingJob[],
  now: Date,
): readonly Step[] | undefined {
  const waits = ({ status, needs }: WaitingJob) => status === "CREATED" && needs?.includes(name);
  const followers = new Set(jobs.filter(waits).map(({ id }) => id));
  const mayBeRetried = jobs.some(({ status }) => status === "FAILED" || status === "WARNING");
  if (followers.size === 0 || mayBeRetried) return undefined;
  const steps = nextSteps(jobs, now).filter(({ jobId }) => followers.has(jobId));
  return steps.every(({ step }) => step === "queue") ? steps : undefined;
}

/** What jobs that come first add up to. */
type Outcome = "waiting" | "passed" | "failed" | "skipped";

function stepFor(job: WaitingJob, outcome: Outcome, now: Date): Step["step"] | undefined {
  if (job.released) return "queue";
  if (job.delayedUntil !== null) return job.delayedUntil <= now ? "queue" : undefined;
  if (outcome === "waiting") return undefined;
  switch (job.when) {
    case "always":
      return "queue";
    case "on_failure":
      return outcome === "failed" ? "queue" : "skip";
    case "on_success":
      return outcome === "passed" ? "queue" : "skip";
    case "manual":
      return outcome === "passed" ? "hold" : "skip";
    case "delayed":
      return outcome === "passed" ? "delay" : "skip";
  }
}

/** By stage: what all jobs of the stages before it add up to. */
function outcomesOfStages(jobs: readonly WaitingJob[]): ReadonlyMap<number, Outcome> {
  const stages = [...new Set(jobs.map(({ stageIndex }) => stageIndex))].sort((a, b) => a - b);
  const outcomes = new Map<number, Outcome>();
  let sofar: Outcome = "passed";
  for (const stage of stages) {
    outcomes.set(stage, sofar);
    const own = outcomeOf(
      jobs.filter(({ stageIndex }) => stageIndex === stage),
      false,
    );
    sofar = sofar === "waiting" || own === "waiting" ? "waiting" : own === "failed" ? own : sofar;
  }
  return outcomes;
}

/** A job that may fail and is canceled is passed over, as one that fails is. */
const hasFailed = ({ status, mayFail }: WaitingJob): boolean =>
  status === "FAILED" || (status === "CANCELED" && !mayFail);

/**
 * @param needed they are named one by one: one that was skipped, or waits to be started by hand
 *   although it may fail, then has not passed
 */
function outcomeOf(jobs: readonly WaitingJob[], needed: boolean): Outcome {
  const isPassedOver = ({ status, mayFail }: WaitingJob): boolean => status === "MANUAL" && mayFail;
  const remaining = jobs.filter((job) => !isPassedOver(job));
  if (remaining.some(({ status }) => !isFinished(status))) return "waiting";
  if (remaining.some(hasFailed)) return "failed";
  const isLeftOut =
    needed &&
    (remaining.length < jobs.length || remaining.some(({ status }) => status === "SKIPPED"));
  return isLeftOut ? "skipped" : "passed";
}

/**
 * Jobs of a pipeline in groups, each behind all those that its jobs wait for. Jobs that start anew in this order are
 * never seen beside former ends of what they wait for, by which they would be skipped.
 *
 * @param some ids of those that are grouped
 */
export function inTurns(
  jobs: readonly WaitingJob[],
  some: ReadonlySet<string>,
): readonly (readonly string[])[] {
  const turns = new Map<string, number>();
  const turnOf = (name: string): number => turns.get(name) ?? -1;
  const stages = [...new Set(jobs.map(({ stageIndex }) => stageIndex))].sort((a, b) => a - b);
  let first = 0;
  for (const stage of stages) {
    const own = jobs.filter(({ stageIndex }) => stageIndex === stage);
    // Needs within a stage may stand in any order, so the walk is repeated until nothing moves.
    for (let isSettled = false; !isSettled; ) {
      isSettled = true;
      for (const { name, needs } of own) {
        const turn = needs === null ? first : 1 + Math.max(-1, ...needs.map(turnOf));
        if (turnOf(name) === turn) continue;
        turns.set(name, turn);
        isSettled = false;
      }
    }
    first = own.reduce((next, { name }) => Math.max(next, turnOf(name) + 1), first);
  }
  const groups = new Map<number, string[]>();
  for (const { id, name } of jobs) {
    if (!some.has(id)) continue;
    const turn = turnOf(name);
    groups.set(turn, [...(groups.get(turn) ?? []), id]);
  }
  return [...groups].sort(([one], [other]) => one - other).map(([, ids]) => ids);
}

/** Names of jobs that wait for one of these, directly or not. */
export function dependentsOf(
  jobs: readonly WaitingJob[],
  of: ReadonlySet<string>,
): ReadonlySet<string> {
  const reached = new Set(of);
  const ordered = jobs.toSorted((a, b) => a.stageIndex - b.stageIndex);
  // Needs within a stage may stand in any order, so the walk is repeated until nothing is added.
  for (let before = -1; before !== reached.size; ) {
    before = reached.size;
    const earliest = Math.min(
      ...ordered.filter(({ name }) => reached.has(name)).map(({ stageIndex }) => stageIndex),
    );
    for (const job of ordered) {
      const depends =
        job.needs === null
          ? job.stageIndex > earliest
          : job.needs.some((name) => reached.has(name));
      if (depends) reached.add(job.name);
    }
  }
  return new Set([...reached].filter((name) => !of.has(name)));
}
