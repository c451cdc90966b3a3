import { expect } from "chai";
import type { AnyEvent } from "../../../src/events/core/event.ts";
import { localIdStream } from "../../../src/events/core/local-id.ts";
import { jobStream } from "../../../src/events/pipeline/job.ts";
import {
  jobNumber,
  placeOfNumber,
  serviceNumberProject,
  serviceNumberSubject,
} from "../../../src/events/pipeline/number.ts";
import { pipelineStream } from "../../../src/events/pipeline/pipeline.ts";
import { PipelineStatus, pipelineStatus } from "../../../src/events/pipeline/status.ts";
import { deterministicId } from "../../../src/platform/deterministic-id.ts";
import { artifactProjection } from "../../../src/projections/agent/artifact.ts";
import type { Tx } from "../../../src/projections/core/projection.ts";
import { write } from "../../../src/projections/core/write.ts";
import { endsOf } from "../../../src/projections/pipeline/follower.ts";
import { pipelineProjection } from "../../../src/projections/pipeline/pipeline.ts";
import {
  findPipeline,
  lastPipeline,
  listJobs,
  listPipelines,
} from "../../../src/projections/pipeline/query.ts";
import { queuedJobs } from "../../../src/projections/pipeline/queue.ts";
import { refreshStatus } from "../../../src/projections/pipeline/refresh.ts";
import {
  agentId,
  commitId,
  created,
  jobIdOf,
  pipelineId,
  planned,
  projectId,
  specOf,
  userId,
} from "../../support/agent/pipeline.ts";
import { at, history } from "../../support/app/history.ts";
import {
  applyEach,
  context,
  project,
  reset,
  rewind,
  rowsOf,
} from "../../support/app/projection.ts";
import { randomNumbers } from "../../support/app/random.ts";
import { testDatabase } from "../../support/store/database.ts";

const { db } = await testDatabase();
const part = { limit: 10, offset: 0 };

type Written = readonly [stream: string, event: AnyEvent];

const ofPipeline = (event: AnyEvent): Written => [pipelineStream(pipelineId), event];
const ofJob = (name: string, type: string, data: object = {}): Written => [
  jobStream(jobIdOf(name)),
  { type, data: { jobId: jobIdOf(name), pipelineId, projectId, ...data } },
];
const refreshed = (tx: Tx): Promise<void> => write(tx, [refreshStatus(pipelineId)]);

const number = (
  kind: "PIPELINE" | "JOB",
  subjectId: string,
  localId: number,
  of = projectId,
): Written => [
  localIdStream(kind, of),
  { type: "LocalIdAssigned", data: { kind, projectId: of, localId, subjectId, assignedAt: at } },
];

const begun: readonly Written[] = [
  ofPipeline(created(3)),
  ofPipeline(
    planned(
      specOf("a"),
      specOf("b", { tags: ["linux"] }),
      specOf("c", { stage: "deploy", stageIndex: 3 }),
    ),
  ),
  number("PIPELINE", pipelineId, 1),
  number("PIPELINE", serviceNumberSubject(pipelineId), 7, serviceNumberProject),
  number("JOB", jobIdOf("a"), 1),
  number("JOB", jobIdOf("b"), 2),
  number("JOB", jobIdOf("c"), 3),
  ofJob("a", "JobQueued", { attempt: 1, queuedAt: at }),
  ofJob("b", "JobQueued", { attempt: 1, queuedAt: at }),
];
const assigned = { attempt: 1, agentId, tokenHash: "a".repeat(64), assignedAt: at };
const given = { attempt: 1, agentId, tokenHash: "b".repeat(64), startedAt: at };
const later = "2030-01-01T00:00:00.000Z";
const whole: readonly Written[] = [
  ...begun,
  ofJob("a", "JobAssigned", assigned),
  ofJob("a", "JobStarted", { attempt: 1, agentId, startedAt: at }),
  ofJob("a", "JobReturned", { attempt: 1, agentId, returnedAt: at }),
  ofJob("a", "JobStarted", given),
  ofJob("a", "JobSucceeded", { attempt: 1, finishedAt: at }),
  ofJob("b", "JobCanceled", { canceledById: userId, canceledAt: at }),
  ofJob("c", "JobSkipped", { skippedAt: at }),
  ofPipeline({
    type: "PipelineFinished",
    data: {
      pipelineId,
      projectId,
      status: "CANCELED",
      durationSeconds: 4,
      failureReason: null,
      finishedAt: at,
    },
  }),
  ofPipeline({
    type: "PipelineRestarted",
    data: { pipelineId, projectId, restartedById: userId, restartedAt: at },
  }),
  ofJob("b", "JobReset", { resetById: userId, resetAt: at }),
  ofJob("b", "JobHeld", { heldAt: at }),
];

const apply = (events: readonly Written[]) =>
  project(db, pipelineProjection, history(...events), context);

describe("the pipeline read model", () => {
  beforeEach(async () => {
    for (const each of [pipelineProjection, artifactProjection]) await reset(db, each);
  });

  it("shows a pipeline once it has a number, with a status that follows from its jobs", async () => {
    await apply(begun.slice(0, 2));
    expect(await listPipelines(db, projectId, {}, part)).to.deep.equal({ rows: [], total: 0 });
    await apply(begun);
    const { rows, total } = await listPipelines(db, projectId, {}, part);
    expect([
      rows.map(({ local_id, status, number }) => [local_id, status, number]),
      total,
    ]).to.deep.equal([[[1, "PENDING", 7n]], 1]);
    const jobs = await listJobs(db, pipelineId, part);
    expect(jobs.rows.map(({ name, local_id, status }) => [name, local_id, status])).to.deep.equal([
      ["a", 1, "PENDING"],
      ["b", 2, "PENDING"],
      ["c", 3, "CREATED"],
    ]);
    expect(await lastPipeline(db, projectId, { commitId })).to.include({ status: "PENDING" });
    expect(await lastPipeline(db, projectId, { ref: "main", isTag: true })).to.equal(undefined);
  });

  it("writes the row of a pipeline only when a job changes what it shows", async () => {
    const version = async () =>
      (await db("pipeline").where({ id: pipelineId }).first(db.raw("xmin::text"), "status")) ?? {};
    const [first, second] = [1, 2].map((n) => whole.slice(0, begun.length + n));
    await apply(first ?? []);
    const assignedOnly = await version();
    await apply(second ?? []);
    const running = await version();
    expect(running).to.include({ status: "RUNNING" });
    expect(running["xmin"]).not.to.equal(assignedOnly["xmin"]);
    const started = ofJob("b", "JobStarted", { attempt: 1, agentId, startedAt: later });
    await apply([...(second ?? []), ofJob("b", "JobAssigned", assigned), started]);
    expect(await version()).to.deep.equal(running);
  });

  it("shows a run that was given to an agent, and nothing of it once it was returned", async () => {
    const returned = ofJob("a", "JobReturned", { attempt: 1, agentId, returnedAt: later });
    const row = () =>
      db("pipeline_job")
        .where({ id: jobIdOf("a") })
        .first();
    const started = async () => (await db("pipeline").first("started_at")).started_at;
    await apply([...begun, ofJob("a", "JobStarted", given)]);
    const start = new Date(at);
    expect(await row()).to.include({
      status: "RUNNING",
      token_hash: given.tokenHash,
      queued: false,
    });
    expect([(await row()).assigned_at, (await row()).started_at]).to.deep.equal([start, start]);
    expect(await started()).to.deep.equal(start);
    await apply([...begun, ofJob("a", "JobStarted", given), returned]);
    expect(await row()).to.include({
      ...{ status: "PENDING", token_hash: null, queued: true },
      ...{ agent_id: null, assigned_at: null, started_at: null },
    });
    expect(await started()).to.equal(null);
  });

  it("shows the message of a failure until the job starts anew", async () => {
    const end = { attempt: 1, exitCode: null, allowed: false, finishedAt: at };
    const failure = { ...end, reason: "downstream_pipeline_failure", message: "No pipeline." };
    const events = [...begun, ofJob("a", "JobFailed", failure), ofJob("b", "JobFailed", failure)];
    await apply(events);
    const messages = async () =>
      (await listJobs(db, pipelineId, part)).rows.map(({ failure_message }) => failure_message);
    expect(await messages()).to.deep.equal(["No pipeline.", "No pipeline.", null]);
    await apply([
      ...events,
      ofJob("a", "JobReset", { resetById: userId, resetAt: at }),
      ofJob("b", "JobReset", { resetById: userId, resetAt: at }),
      ofJob("b", "JobQueued", { attempt: 2, queuedAt: at }),
      ofJob("b", "JobFailed", { ...end, attempt: 2, reason: "unknown_failure" }),
    ]);
    expect(await messages()).to.deep.equal([null, null, null]);
  });

  it("queues no job before its pipeline has both numbers, and announces jobs then", async () => {
    const found = async () =>
      (await queuedJobs(db, { tags: [], runUntagged: true, limit: 10 })).map(({ job }) => job.name);
    const own = number("PIPELINE", pipelineId, 1);
    const others = begun.filter((each) => JSON.stringify(each) !== JSON.stringify(own));
    expect(others).to.have.length(begun.length - 1);
    await apply(others);
    expect(await found()).to.deep.equal([]);
    const sent: unknown[] = [];
    const note = ({ bindings = [] }: { bindings?: unknown[] }) => void sent.push(...bindings);
    db.on("query", note);
    await apply([...others, own]);
    db.off("query", note);
    expect(sent).to.include("changed jobs");
    expect(await found()).to.deep.equal(["a"]);
  });

  it("queues jobs for agents that have their tags", async () => {
    await apply(begun);
    const names = async (tags: readonly string[], runUntagged: boolean) =>
      (await queuedJobs(db, { tags, runUntagged, limit: 10 })).map(({ job }) => job.name);
    expect(await names([], true)).to.deep.equal(["a"]);
    expect(await names(["linux", "more"], true)).to.deep.equal(["a", "b"]);
    expect(await names(["linux"], false)).to.deep.equal(["b"]);
    expect(await names(["other"], false)).to.deep.equal([]);
    const except = [jobIdOf("a")];
    expect(await queuedJobs(db, { tags: [], runUntagged: true, except, limit: 10 })).to.deep.equal(
      [],
    );
    const projectIds = [serviceNumberProject];
    expect(
      await queuedJobs(db, { tags: [], runUntagged: true, projectIds, limit: 10 }),
    ).to.deep.equal([]);
    await apply(whole);
    expect(await names(["linux"], true)).to.deep.equal([]);
  });

  it("forgets a deleted pipeline, and counts it no more", async () => {
    const deleted = {
      type: "PipelineDeleted",
      data: { pipelineId, projectId, deletedById: null, deletedAt: at },
    };
    const needs = [{ job: "a", artifacts: true }];
    const more = { ...planned(specOf("d", { needs })), from: 3 };
    await apply([...whole, ofPipeline(more), ofPipeline(deleted)]);
    expect(await findPipeline(db, projectId, 1)).to.equal(undefined);
    expect(await listPipelines(db, projectId, {}, part)).to.deep.equal({ rows: [], total: 0 });
    const { pipeline_job, pipeline_job_spec, pipeline_job_need } = await rowsOf(
      db,
      pipelineProjection,
    );
    expect([pipeline_job, pipeline_job_spec, pipeline_job_need]).to.deep.equal([[], [], []]);
  });

  it("ends the same when delivered again, in parts, or from the start", async () => {
    const events = history(...whole);
    await project(db, pipelineProjection, events, context);
    const live = await rowsOf(db, pipelineProjection);
    expect(live["pipeline"]).to.have.length(1);

    for (const some of [events.slice(0, 1), events.slice(4), events]) {
      await project(db, pipelineProjection, some, context);
      expect(await rowsOf(db, pipelineProjection)).to.deep.equal(live);
    }
    await rewind(db, pipelineProjection);
    await project(db, pipelineProjection, events, context);
    expect(await rowsOf(db, pipelineProjection)).to.deep.equal(live);

    await reset(db, pipelineProjection);
    for (const event of events) await project(db, pipelineProjection, [event], context);
    expect(await rowsOf(db, pipelineProjection)).to.deep.equal(live);
  });

  it("ends the same one event at a time, and all at once", async () => {
    const gone = { pipelineId, projectId, deletedById: userId, deletedAt: at };
    for (const end of [[], [ofPipeline({ type: "PipelineDeleted", data: gone })]]) {
      const events = history(...whole, ...end);
      await reset(db, pipelineProjection);
      await project(db, pipelineProjection, events, context);
      const live = await rowsOf(db, pipelineProjection);
      for (const batches of [events.map((event) => [event]), [events]]) {
        await reset(db, pipelineProjection);
        await applyEach(db, pipelineProjection, batches);
        expect(await rowsOf(db, pipelineProjection)).to.deep.equal(live);
      }
    }
  });

  it("has the status that its jobs add up to, whichever these have", async () => {
    const below = randomNumbers(11);
    await apply(begun);
    const names = ["a", "b", "c"];
    for (let times = 0; times < 100; times += 1) {
      const jobs = names.map((name) => ({
        id: jobIdOf(name),
        status: PipelineStatus.options[below(PipelineStatus.options.length)] ?? "CREATED",
        may_fail: below(2) === 0,
      }));
      for (const { id, ...change } of jobs) await db("pipeline_job").where({ id }).update(change);
      const isCanceled = below(2) === 0;
      await db("pipeline").update({ canceled: isCanceled });
      await db.transaction(refreshed);
      const counts = jobs.map(({ status, may_fail: mayFail }) => ({ status, mayFail, count: 1 }));
      const what = JSON.stringify([isCanceled, counts]);
      const shown = await db("pipeline").first("status");
      expect(shown, what).to.deep.equal({ status: pipelineStatus(counts, { isCanceled }) });
    }
  });

  it("has a status for which the table of all jobs is not read through", async () => {
    await apply(begun);
    await db("pipeline_job").update({ status: "SUCCESS" });
    for (const id of [deterministicId("another pipeline"), pipelineId]) {
      await db.raw(
        `insert into pipeline_job select (jsonb_populate_record(job, jsonb_build_object(
           'id', gen_random_uuid(), 'pipeline_id', ?::uuid, 'place', 3 + n))).*
         from pipeline_job as job, generate_series(1, 2000) as n where job.id = ?`,
        [id, jobIdOf("a")],
      );
    }
    await db("pipeline_job")
      .where({ id: jobIdOf("c") })
      .update({ status: "PENDING" });
    await db.raw("analyze pipeline_job");
    const scans = await db.transaction(async (tx) => {
      // What former transactions of the connection did is counted with it for a while.
      const counted = tx("pg_stat_xact_user_tables").where({ relname: "pipeline_job" });
      const before = await counted.clone().first("seq_scan");
      await refreshed(tx);
      const after = await counted.clone().first("seq_scan");
      return (after?.seq_scan ?? 0n) - (before?.seq_scan ?? 0n);
    });
    expect(scans).to.equal(0n);
    expect(await db("pipeline").first("status")).to.deep.equal({ status: "RUNNING" });
  });
});

describe("the numbers that agents know", () => {
  it("name a pipeline and a place in it", () => {
    const own = jobNumber(7n, 3);
    expect(placeOfNumber(own)).to.deep.equal({ pipelineNumber: 7, place: 3 });
    expect(jobNumber(7n, 4_095)).to.be.below(jobNumber(8n, 0));
    expect(serviceNumberSubject(serviceNumberSubject(pipelineId))).to.equal(pipelineId);
    expect(serviceNumberSubject(pipelineId)).not.to.equal(pipelineId);
  });
});

describe("whether something follows the end of a job", () => {
  beforeEach(() => reset(db, pipelineProjection));

  const given = (
    jobs: readonly ReturnType<typeof specOf>[],
    ended: readonly string[],
    more: readonly Written[] = [],
  ) =>
    apply([
      ofPipeline(created(jobs.length)),
      ofPipeline(planned(...jobs)),
      ...ended.flatMap((name): Written[] => [
        ofJob(name, "JobQueued", { attempt: 1, queuedAt: at }),
        ofJob(name, "JobSucceeded", { attempt: 1, finishedAt: at }),
      ]),
      ...more,
    ]);
  const nothingFollows = async (name: string) =>
    (await endsOf(db, [jobIdOf(name)])).some(
      ({ id, movesNone }) => id === jobIdOf(name) && movesNone,
    );

  it("is not while others of its stage go on", async () => {
    await given([specOf("a"), specOf("b"), specOf("c", { stageIndex: 3 })], ["a"]);
    expect(await nothingFollows("a")).to.equal(true);
  });

  it("is with the last of its stage", async () => {
    await given([specOf("a"), specOf("b"), specOf("c", { stageIndex: 3 })], ["a", "b"]);
    expect(await nothingFollows("b")).to.equal(false);
  });

  it("is where a job that has not begun names it", async () => {
    const needs = [{ job: "a", artifacts: true, optional: false }];
    await given([specOf("a"), specOf("b"), specOf("c", { stageIndex: 3, needs })], ["a"]);
    expect(await nothingFollows("a")).to.equal(false);
  });

  it("is when it runs once more", async () => {
    const reset = ofJob("a", "JobReset", { resetById: null, resetAt: at });
    await given([specOf("a"), specOf("b")], ["a"], [reset]);
    expect(await nothingFollows("a")).to.equal(false);
  });

  it("is when what is left waits to be started by hand", async () => {
    const held = ofJob("b", "JobHeld", { heldAt: at });
    await given([specOf("a"), specOf("b", { when: "manual" })], ["a"], [held]);
    expect(await nothingFollows("a")).to.equal(false);
  });
});
