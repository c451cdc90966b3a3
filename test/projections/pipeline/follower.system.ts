import { expect } from "chai";

import {
  nextSteps,
  stepsAfterSuccess,
  type WaitingJob,
} from "../../../src/commands/pipeline/next-step.ts";
import type { PipelineStatus } from "../../../src/events/pipeline/status.ts";
import { endsOf } from "../../../src/projections/pipeline/follower.ts";
import { pipelineProjection } from "../../../src/projections/pipeline/pipeline.ts";
import { type JobRow, nameKeyOf, pipelineTables } from "../../../src/projections/pipeline/table.ts";
import { waiting } from "../../../src/services/pipeline/advance.ts";
import { jobIdOf, pipelineId, projectId } from "../../support/agent/pipeline.ts";
import { reset } from "../../support/app/projection.ts";
import { randomNumbers } from "../../support/app/random.ts";
import { testDatabase } from "../../support/store/database.ts";

const { db } = await testDatabase();
const now = new Date("2026-01-02T03:04:05.678Z");
const tomorrow = new Date("2026-01-03T03:04:05.678Z");
const statuses: readonly PipelineStatus[] = [
  ...(["CREATED", "CREATED", "CREATED", "SUCCESS", "SUCCESS", "SUCCESS", "SUCCESS"] as const),
  ...(["PENDING", "RUNNING", "FAILED", "WARNING", "CANCELED", "SKIPPED", "MANUAL"] as const),
];
const whens: readonly WaitingJob["when"][] = [
  ...(["on_success", "on_success", "on_success", "on_success"] as const),
  ...(["always", "on_failure", "manual", "delayed"] as const),
];

function jobOf(name: string, change: Partial<WaitingJob> = {}): WaitingJob {
  const common = { when: "on_success", needs: null, mayFail: false, released: false } as const;
  const first = { stageIndex: 1, status: "CREATED", delayedUntil: null } as const;
  return { id: jobIdOf(name), name, ...common, ...first, ...change };
}

/** Jobs of one pipeline, the first of which runs. */
function randomJobs(next: (below: number) => number): readonly WaitingJob[] {
  const pick = <Value>(values: readonly Value[]): Value => values[next(values.length)] as Value;
  const isGraph = next(2) === 0;
  return Array.from({ length: 2 + next(6) }, (_, index) => {
    if (index === 0) return jobOf("j0", { status: "RUNNING" });
    const needs = Array.from({ length: index }, (_each, at) => `j${at}`).filter(
      () => next(3) === 0,
    );
    return jobOf(`j${index}`, {
      stageIndex: 1 + next(3),
      needs: isGraph || next(2) === 0 ? needs : null,
      status: pick(statuses),
      when: pick(whens),
      mayFail: next(4) === 0,
    });
  });
}

const after = { queue: "PENDING", hold: "MANUAL", skip: "SKIPPED" } as const;

/** The same after all that can be done while the first runs. */
function settled(jobs: readonly WaitingJob[]): readonly WaitingJob[] {
  const steps = new Map(nextSteps(jobs, now).map(({ jobId, step }) => [jobId, step]));
  if (steps.size === 0) return jobs;
  const changed = jobs.map((job): WaitingJob => {
    const step = steps.get(job.id);
    if (step === undefined) return job;
    return step === "delay" ? { ...job, delayedUntil: tomorrow } : { ...job, status: after[step] };
  });
  return settled(changed);
}

const rowOf = (job: WaitingJob, place: number) => ({
  ...{ id: job.id, name: job.name, pipeline_id: pipelineId, project_id: projectId, place },
  ...{ stage: `s${job.stageIndex}`, stage_index: job.stageIndex, job_when: job.when },
  ...{ may_fail: job.mayFail, needs: job.needs, tags: [], interruptible: false, is_trigger: false },
  ...{ status: job.status, attempt: 0, released: job.released, delayed_until: job.delayedUntil },
  created_at: now,
});

const near = async (): Promise<readonly JobRow[]> =>
  (await endsOf(db, [jobIdOf("j0")])).flatMap((end) => end.near);

async function insert(jobs: readonly WaitingJob[], pipeline_id: string = pipelineId) {
  await db("pipeline_job").insert(
    jobs.map((job, place) => ({ ...rowOf(job, place), pipeline_id })),
  );
  const of = ({ id }: WaitingJob, name: string) => ({
    ...{ job_id: id, pipeline_id, project_id: projectId },
    name_key: nameKeyOf(pipeline_id, name),
  });
  const plans = jobs.map((job) => ({ ...of(job, job.name), spec: {} }));
  await db("pipeline_job_spec").insert(plans);
  const needs = jobs.flatMap((job) => job.needs?.map((name) => of(job, name)) ?? []);
  if (needs.length > 0) await db("pipeline_job_need").insert(needs);
}

async function rowsOfFollowers(jobs: readonly WaitingJob[]) {
  for (const table of pipelineTables) await db(table.name).delete();
  await insert(jobs);
  return near();
}

const names = (rows: readonly Pick<JobRow, "name">[]) => rows.map(({ name }) => name).sort();

describe("the jobs that wait for one by its name", () => {
  before(() => reset(db, pipelineProjection));

  const done = (name: string, change: Partial<WaitingJob> = {}) =>
    jobOf(name, { status: "SUCCESS", ...change });

  it("are found with what they need, and no others", async () => {
    const both = jobOf("both", { needs: ["j0", "other"] });
    const rest = [done("other"), done("far"), jobOf("next", { needs: ["both"] })];
    expect(names(await rowsOfFollowers([done("j0"), both, ...rest]))).to.deep.equal([
      ...["both", "j0", "other"],
    ]);
  });

  it("are not all that counts where the last of a stage ended and others wait for the stage", async () => {
    const waits = [jobOf("named", { needs: ["j0"] }), jobOf("staged", { stageIndex: 2 })];
    const named = { ...waits[0], stageIndex: 2 } as WaitingJob;
    expect(await rowsOfFollowers([done("j0"), named, waits[1] as WaitingJob])).to.deep.equal([]);
    const going = jobOf("going", { status: "RUNNING" });
    const rows = await rowsOfFollowers([done("j0"), going, named, waits[1] as WaitingJob]);
    expect(names(rows)).to.deep.equal(["j0", "named"]);
  });

  it("are not looked for once the job runs again, or when it did not succeed", async () => {
    for (const status of ["CREATED", "RUNNING", "FAILED", "CANCELED"] as const) {
      const rows = await rowsOfFollowers([jobOf("j0", { status }), jobOf("j1", { needs: ["j0"] })]);
      expect(rows, status).to.deep.equal([]);
    }
  });

  it("are those of the same pipeline alone", async () => {
    await rowsOfFollowers([done("j0")]);
    await insert([jobOf("j1", { needs: ["j0"] })], projectId);
    expect(await near()).to.deep.equal([]);
  });

  it("decide the same as all jobs of the pipeline, in random pipelines", async () => {
    const next = randomNumbers(20261123);
    const decided = { fewJobs: 0, queued: 0 };
    for (let round = 0; round < 800; round += 1) {
      const [first, ...others] = settled(randomJobs(next));
      const jobs = [{ ...first, status: "SUCCESS" } as WaitingJob, ...others];
      const rows = (await rowsOfFollowers(jobs)).map(waiting);
      const found = stepsAfterSuccess("j0", rows, now);
      if (found === undefined) continue;
      decided.fewJobs += 1;
      decided.queued += found.length;
      const sorted = (steps: typeof found) => steps.map(({ jobId }) => jobId).sort();
      expect(sorted(found), JSON.stringify(jobs)).to.deep.equal(sorted(nextSteps(jobs, now)));
      expect(found.every(({ step }) => step === "queue")).to.equal(true);
    }
    expect(decided.fewJobs).to.be.greaterThan(50);
    expect(decided.queued).to.be.greaterThan(40);
  });
});
