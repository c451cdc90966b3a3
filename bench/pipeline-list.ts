import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Knex } from "knex";

import { startPostgres } from "../src/embedded/postgres/server.ts";
import { migrate } from "../src/platform/migrate.ts";
import { openPostgres } from "../src/platform/postgres.ts";
import { artifactProjection } from "../src/projections/agent/artifact.ts";
import { install } from "../src/projections/core/install.ts";
import { pipelineProjection } from "../src/projections/pipeline/pipeline.ts";
import {
  findPipeline,
  listJobs,
  listPipelines,
  type PipelineFilter,
} from "../src/projections/pipeline/query.ts";
import { queuedJobs } from "../src/projections/pipeline/queue.ts";
import { figure, quantile, timed } from "./figure.ts";

/**
 * The 99th percentile of lists of pipelines and jobs on an instance of 100,000 pipelines with 1,000,000 jobs,
 * against the same on one of a hundredth of its size, in the same run; both alternate. Rows are written
 * straight into the tables of the read model: the log of a million jobs would take hours. Specifications of
 * jobs are written for the queued ones alone, because no list reads others.
 *
 * node --import tsx bench/pipeline-list.ts [projects] [queries each]
 */
const pipelinesPerProject = 1_000;
const jobsPerPipeline = 10;
const projects = Number(process.argv[2] ?? 100);
const queriesEach = Number(process.argv[3] ?? 1_000);
const warmUp = 50;

type World = Readonly<{ db: Knex; projectIds: readonly string[]; close: () => Promise<void> }>;
type Query = (db: Knex, projectId: string, round: number) => Promise<unknown>;

const list =
  (filter: (round: number) => PipelineFilter): Query =>
  (db, projectId, round) =>
    listPipelines(db, projectId, filter(round), { limit: 10, offset: 0 });

const queries: Readonly<Record<string, Query>> = {
  "pipelines, all": list(() => ({})),
  "pipelines, page 50": (db, projectId) =>
    listPipelines(db, projectId, {}, { limit: 10, offset: 490 }),
  "pipelines of a branch": list((round) => ({ branch: `branch-${round % 20}` })),
  "pipelines that failed": list(() => ({ status: ["FAILED"] })),
  "jobs of a pipeline": async (db, projectId, round) => {
    const row = await findPipeline(db, projectId, 1 + (round % pipelinesPerProject));
    if (row === undefined) throw new Error("there is such a pipeline");
    await listJobs(db, row.id, { limit: 20, offset: 0 });
  },
  "queue of a project": (db, projectId) =>
    queuedJobs(db, { projectIds: [projectId], tags: [], runUntagged: true, limit: 20 }),
};

const large = await makeWorld(projects);
const small = await makeWorld(Math.max(1, Math.round(projects / 100)));
try {
  for (const [name, query] of Object.entries(queries)) {
    const times = { large: [] as number[], small: [] as number[] };
    for (let round = 0; round < queriesEach + warmUp; round += 1) {
      for (const [of, { db, projectIds }] of [
        ["large", large],
        ["small", small],
      ] as const) {
        const projectId = projectIds[(round * 7_919) % projectIds.length] ?? "";
        const ms = await timed(() => query(db, projectId, round));
        if (round >= warmUp) times[of].push(ms);
      }
    }
    const baseline = { name: "of a hundredth", value: quantile(times.small, 0.99) };
    figure(`${name}, p99`, "ms", quantile(times.large, 0.99), baseline);
  }
} finally {
  await large.close();
  await small.close();
}

async function makeWorld(count: number): Promise<World> {
  const dataDir = await mkdtemp(path.join(tmpdir(), "ledgerforge-bench-"));
  const postgres = await startPostgres({ dataDir, durable: false });
  const db = openPostgres(postgres.url);
  await migrate(db);
  await db.transaction(async (tx) => {
    // The queue says whether a pipeline has artifacts.
    for (const each of [pipelineProjection, artifactProjection]) await install(tx, each, "live");
  });
  const projectIds = Array.from({ length: count }, () => randomUUID());
  const took = await timed(async () => {
    for (const projectId of projectIds) await seed(db, projectId);
    await db.raw("vacuum analyze");
  });
  const pipelines = count * pipelinesPerProject;
  process.stdout.write(
    `${pipelines} pipelines, ${pipelines * jobsPerPipeline} jobs: ${(took / 1_000).toFixed(0)} s\n`,
  );
  return {
    db,
    projectIds,
    async close() {
      await db.destroy();
      await postgres.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** One of ten pipelines failed; a job of the newest is queued. */
async function seed(db: Knex, projectId: string): Promise<void> {
  await db.raw(
    `with made as (
       insert into pipeline (id, project_id, local_id, number, ref, is_tag, commit_id, source, auto_cancel,
         cancel_on_failure, canceled, jobs, status, started_at, finished_at, duration_seconds, created_at)
       select gen_random_uuid(), ?, n, n, 'branch-' || n % 20, false, md5(n::text), 'PUSH', 'conservative',
         false, false, ?, case when n % 10 = 0 then 'FAILED' else 'SUCCESS' end, now(), now(), 60,
         now() - (? - n) * interval '1 minute'
       from generate_series(1, ?) as n
       returning id, local_id, project_id, created_at
     )
     insert into pipeline_job (id, pipeline_id, project_id, local_id, place, name, stage, stage_index,
       job_when, may_fail, tags, interruptible, is_trigger, status, attempt, queued, queued_at, started_at,
       finished_at, created_at)
     select gen_random_uuid(), id, project_id, local_id * 100 + place, place, 'job ' || place, 'test', 2,
       'on_success', false, '{}', false, false,
       case when local_id = ? and place = 0 then 'PENDING' else 'SUCCESS' end, 1,
       local_id = ? and place = 0, created_at, created_at, created_at, created_at
     from made, generate_series(0, ?) as place
     -- The jobs of a pipeline are planned, and so written, together.
     order by local_id, place`,
    [
      ...[projectId, jobsPerPipeline, pipelinesPerProject, pipelinesPerProject],
      ...[pipelinesPerProject, pipelinesPerProject, jobsPerPipeline - 1],
    ],
  );
  await db.raw(
    `insert into pipeline_job_spec (job_id, pipeline_id, project_id, name_key, spec)
     select id, pipeline_id, project_id, gen_random_uuid(), '{}' from pipeline_job where project_id = ? and queued`,
    [projectId],
  );
  await db("pipeline_count").insert({ project_id: projectId, total: pipelinesPerProject });
}
