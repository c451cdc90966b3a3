import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { promisify } from "node:util";
import { expect } from "chai";

import type { Recorded } from "../../../src/events/core/event.ts";
import { bySystem } from "../../../src/events/core/system.ts";
import { jobStream } from "../../../src/events/pipeline/job.ts";
import { jobNumber } from "../../../src/events/pipeline/number.ts";
import { deterministicId } from "../../../src/platform/deterministic-id.ts";
import { beginRun, findRun } from "../../../src/platform/job-log/store.ts";
import { hashToken, newToken, tokenPrefixes } from "../../../src/platform/key/token.ts";
import type { Job } from "../../../src/platform/queue/queue.ts";
import {
  agentWatch,
  agentWatchWorker,
  confirmMs,
  lookAt,
  silenceMs,
} from "../../../src/workers/agent/watch.ts";
import { buildsOf, startAppWithAgent } from "../../support/agent/agent-app.ts";
import type { TakenJob } from "../../support/agent/agent-job.ts";
import { eventually } from "../../support/app/eventually.ts";

const { app, anna, search, at, agent, poll, put, take, begin, patch } = await startAppWithAgent();
const other = await app.givenProject(anna, "other");

const { db, store } = app.deps;
/** Looks as a worker would after so much time; it has been up for longer. */
const lookAfter = async (ms: number, upForMs?: number) => {
  const row = await db("pipeline_job")
    .whereNotNull("assigned_at")
    .orderBy("assigned_at", "desc")
    .first();
  const now = () => new Date(Date.now() + ms);
  const upSince = upForMs === undefined ? 0 : now().getTime() - upForMs;
  const next = await lookAt({ db, store, now }, { jobId: row.id, attempt: row.attempt }, upSince);
  const newest = await store.head();
  await app.deps.visible(newest);
  return next;
};

const waiting =
  "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";

const { givenPipeline, statusOf } = buildsOf(at);

describe("an agent that claims a job and dies", () => {
  it("loses the job when it does not confirm it: another one gets it", async () => {
    const pipeline = await givenPipeline();
    const lost = await take();
    expect(await lookAfter(10_000)).to.be.within(1, 21_000);
    expect(await lookAfter(31_000)).to.equal(undefined);
    const job = (await poll()).body as TakenJob;
    expect(job.id).to.equal(lost.id);
    expect(job.token).not.to.equal(lost.token);
    const late = await put(lost, { state: "running" });
    expect(late.status).to.equal(403);
    expect((await patch(lost, 0, "late")).status).to.equal(403);
    expect((await put(job, { state: "running" })).status).to.equal(200);
    await put(job, { state: "success" });
    expect(await statusOf(pipeline)).to.equal("SUCCESS");
  });

  it("shows its deployment as pending until another one gets it", async () => {
    const pipeline = await givenPipeline("  environment: production\n");
    await take();
    const deployment = () =>
      db("deployment").orderBy("created_at", "desc").first("status", "started_at");
    expect((await deployment()).status).to.equal("RUNNING");
    await lookAfter(31_000);
    expect(await deployment()).to.deep.equal({ status: "PENDING", started_at: null });
    await put(await begin(), { state: "success" });
    expect(await statusOf(pipeline)).to.equal("SUCCESS");
  });

  it("keeps the job that it confirms by a piece of the log, however late its run is checked", async () => {
    const pipeline = await givenPipeline();
    const job = await take();
    expect((await patch(job, 0, "begun")).status).to.equal(202);
    expect(await lookAfter(31_000)).to.be.within(1, silenceMs - 29_000);
    expect(await statusOf(pipeline)).to.equal("RUNNING");
    await put(job, { state: "success", output: { bytesize: 5 } });
    expect(await statusOf(pipeline)).to.equal("SUCCESS");
  });

  it("cannot confirm a run that was given up, before its job is returned", async () => {
    const pipeline = await givenPipeline();
    const job = await take();
    const { id: job_id } = await db("pipeline_job").where({ status: "RUNNING" }).first("id");
    const over_at = new Date();
    await db("public.job_run").where({ job_id }).update({ over_at });
    for (const times of [1, 2]) {
      expect([times, (await put(job, { state: "running" })).status]).to.deep.equal([times, 403]);
    }
    expect((await patch(job, 0, "late")).status).to.equal(403);
    // A worker that was killed in between checks the run again.
    expect(await lookAfter(31_000)).to.equal(undefined);
    expect(await statusOf(pipeline)).to.equal("PENDING");
    await put(await begin(), { state: "success" });
  });

  it("loses the job whose run was never noted, because the process that gave it died", async () => {
    const pipeline = await givenPipeline();
    const lost = await take();
    const { id: job_id } = await db("pipeline_job").where({ status: "RUNNING" }).first("id");
    await db("public.job_run").where({ job_id }).delete();
    expect((await put(lost, { state: "running" })).status).to.equal(403);
    expect(await lookAfter(10_000)).to.be.within(1, 21_000);
    expect(await lookAfter(31_000)).to.equal(undefined);
    expect(await statusOf(pipeline)).to.equal("PENDING");
    await put(await begin(), { state: "success" });
    expect(await statusOf(pipeline)).to.equal("SUCCESS");
  });

  it("keeps the job that it confirms at the moment at which it is given up", async () => {
    const pipeline = await givenPipeline();
    const job = await take();
    const { id: job_id } = await db("pipeline_job").where({ status: "RUNNING" }).first("id");
    const confirming = await db.transaction();
    const at = new Date();
    await confirming("public.job_run")
      .where({ job_id })
      .update({ confirmed_at: at, contact_at: at });
    const looking = lookAfter(31_000);
    await eventually(async () => (await db.raw(waiting)).rowCount > 0);
    await confirming.commit();
    expect(await looking).to.equal(silenceMs);
    expect((await put(job, { state: "running" })).status).to.equal(200);
    await put(job, { state: "success" });
    expect(await statusOf(pipeline)).to.equal("SUCCESS");
  });

  it("cannot confirm a run that was noted after it was given up", async () => {
    const pipeline = await givenPipeline();
    const lost = await take();
    const { id: job_id } = await db("pipeline_job").where({ status: "RUNNING" }).first("id");
    const [run] = await db("public.job_run").where({ job_id }).delete().returning("*");
    expect(await lookAfter(31_000)).to.equal(undefined);
    // As a process that was held up between the two.
    const { project_id, agent_id, token_hash, contact_at, given_position } = run;
    const given = { job_id, attempt: 1, project_id, agent_id, token_hash, given_position };
    await beginRun(db, { ...given, contact_at });
    const late = await findRun(db, { job_id, attempt: 1 });
    expect([late?.token_hash, late?.over_at === null]).to.deep.equal([token_hash, false]);
    expect((await put(lost, { state: "running" })).status).to.equal(403);
    await put(await begin(), { state: "success" });
    expect(await statusOf(pipeline)).to.equal("SUCCESS");
  });

  it("takes the job from no other agent when its run is noted after that one has it", async () => {
    const pipeline = await givenPipeline();
    await take();
    const { id: job_id } = await db("pipeline_job").where({ status: "RUNNING" }).first("id");
    const [run] = await db("public.job_run").where({ job_id }).delete().returning("*");
    await lookAfter(31_000);
    const job = await begin();
    expect((await patch(job, 0, "begun")).status).to.equal(202);
    // As a process that was held up between the two, and whose clock is an hour ahead.
    const { project_id, agent_id, token_hash, contact_at, given_position } = run;
    const given = { job_id, attempt: 1, project_id, agent_id, token_hash, given_position };
    await beginRun(db, { ...given, contact_at: new Date(Number(contact_at) + 3_600_000) });
    expect((await patch(job, 5, " more")).status).to.equal(202);
    await put(job, { state: "success", output: { bytesize: 10 } });
    expect(await statusOf(pipeline)).to.equal("SUCCESS");
  });

  it("loses the job that a projections process of an earlier release shows without its token", async () => {
    const pipeline = await givenPipeline();
    await take();
    const running = db("pipeline_job").where({ status: "RUNNING" });
    const [{ id: jobId }] = await running
      .update({ token_hash: null, assigned_at: null })
      .returning("id");
    const now = () => new Date(Date.now() + 31_000);
    expect(await lookAt({ db, store, now }, { jobId, attempt: 1 }, 0)).to.equal(undefined);
    await app.deps.visible(await store.head());
    expect(await statusOf(pipeline)).to.equal("PENDING");
    await put(await begin(), { state: "success" });
    expect(await statusOf(pipeline)).to.equal("SUCCESS");
  });

  it("fails the job after a minute of silence, not while it is heard", async () => {
    const pipeline = await givenPipeline();
    const job = await begin();
    expect(await lookAfter(silenceMs - 10_000)).to.be.within(1, 10_000);
    await put(job, { state: "running" });
    expect(await statusOf(pipeline)).to.equal("RUNNING");
    expect(await lookAfter(silenceMs + 1_000)).to.equal(undefined);
    expect(await statusOf(pipeline)).to.equal("FAILED");
    const row = await db("pipeline_job").where({ status: "FAILED" }).first();
    expect(row.failure_reason).to.equal("runner_system_failure");
    const late = await put(job, { state: "success" });
    expect([late.status, late.headers.get("job-status")]).to.deep.equal([403, "failed"]);
    expect(await statusOf(pipeline)).to.equal("FAILED");
  });

  it("has the job retried where the file configures it", async () => {
    const pipeline = await givenPipeline("  retry: {max: 1, when: runner_system_failure}\n");
    await begin();
    await lookAfter(silenceMs + 1_000);
    expect(await statusOf(pipeline)).to.equal("CREATED");
  });

  it("is given time when the service itself was down", async () => {
    await givenPipeline();
    const job = await begin();
    const row = await db("pipeline_job")
      .whereNotNull("assigned_at")
      .orderBy("assigned_at", "desc")
      .first();
    const now = () => new Date(Date.now() + 3_600_000);
    const upSince = now().getTime() - 5_000;
    const which = { jobId: row.id, attempt: row.attempt };
    expect(await lookAt({ db, store, now }, which, upSince)).to.be.within(50_000, 55_000);
    await put(job, { state: "success" });
  });
});

describe("a run that a release of before 2026-11-26 assigned to an agent", () => {
  /** With its row as that release writes it. */
  async function givenAssigned() {
    const pipeline = await givenPipeline();
    const row = await db("pipeline_job").where({ queued: true }).first();
    const token = newToken(tokenPrefixes.job);
    const of = { agentId: agent.id, attempt: 1, tokenHash: hashToken(token) };
    const ids = { jobId: row.id, pipelineId: row.pipeline_id, projectId: row.project_id };
    const assignedAt = new Date();
    const data = { ...ids, ...of, assignedAt: assignedAt.toISOString() };
    const metadata = bySystem({ commandId: randomUUID() }, assignedAt.toISOString());
    const event = { id: randomUUID(), type: "JobAssigned", data, metadata };
    await app.deps.visible((await store.append(jobStream(row.id), 0n, [event])).position);
    const key = { job_id: row.id, attempt: 1, project_id: row.project_id, agent_id: agent.id };
    const run = { ...key, token_hash: of.tokenHash, contact_at: assignedAt };
    await db("public.job_run").insert(run);
    const { number } = await db("pipeline").where({ id: row.pipeline_id }).first("number");
    const id = jobNumber(BigInt(number), row.place);
    return { pipeline, job: { id, token } };
  }

  it("starts when it is confirmed", async () => {
    const { pipeline, job } = await givenAssigned();
    expect(await statusOf(pipeline)).to.equal("PENDING");
    expect((await put(job, { state: "running" })).status).to.equal(200);
    expect(await statusOf(pipeline)).to.equal("RUNNING");
    expect(await lookAfter(31_000)).to.be.within(1, silenceMs - 29_000);
    await put(job, { state: "success" });
    expect(await statusOf(pipeline)).to.equal("SUCCESS");
  });

  it("is returned when it is not", async () => {
    const { pipeline, job } = await givenAssigned();
    expect(await lookAfter(31_000)).to.equal(undefined);
    expect((await put(job, { state: "running" })).status).to.equal(403);
    await put(await begin(), { state: "success" });
    expect(await statusOf(pipeline)).to.equal("SUCCESS");
  });
});

describe("runs that were given to agents at the same time", () => {
  it("are checked by one step until the last of them is over", async () => {
    const ids = ["one", "two"].map((name) => deterministicId("watched job", name));
    const events = ids.map((jobId, n) => {
      const data = { jobId, attempt: 1, pipelineId: jobId, projectId: search.id, agentId: jobId };
      const at = new Date().toISOString();
      const more = { tokenHash: "a".repeat(64), startedAt: at, assignedAt: at };
      // As runs began until 2026-11-26, and as they do.
      const type = n === 0 ? "JobAssigned" : "JobStarted";
      return { id: jobId, position: BigInt(n), type, data: { ...data, ...more } };
    }) as unknown as readonly Recorded[];
    const confirmed = events.map(({ data, ...event }) => {
      const { tokenHash: _, ...rest } = data as Record<string, unknown>;
      return { ...event, type: "JobStarted", data: rest };
    }) as unknown as readonly Recorded[];
    expect(await agentWatch.reactAll!(confirmed, undefined as never)).to.deep.equal([]);
    const given = [...events, ...confirmed];
    const [job, ...others] = await agentWatch.reactAll!(given, undefined as never);
    expect(others).to.deep.equal([]);
    expect(job!.delayMs).to.equal(confirmMs);
    const runs = ids.map((jobId) => ({ jobId, attempt: 1 }));
    expect(job!.data["runs"]).to.deep.equal(runs);
  });

  it("are over once none is left, and those left are checked again", async () => {
    await givenPipeline();
    const taken = await begin();
    const row = await db("pipeline_job").where({ status: "RUNNING" }).first();
    const added: Job[] = [];
    const queues = { add: async (jobs: readonly Job[]) => void added.push(...jobs) };
    const deps = { ...app.deps, queues } as never;
    const gone = { jobId: deterministicId("a job that is gone"), attempt: 1 };
    const left = { jobId: row.id, attempt: row.attempt };
    const { signal } = new AbortController();
    await agentWatchWorker.runJob({ runs: [gone, left], look: 0 }, deps, signal);
    expect(added.map(({ data }) => data["runs"])).to.deep.equal([[left]]);
    await put(taken, { state: "success" });
    await agentWatchWorker.runJob(added[0]!.data, deps, signal);
    expect(added).to.have.length(1);
  });
});

describe("runs that the read model does not show yet", () => {
  it("are checked again instead of being taken for over", async () => {
    const pipeline = await givenPipeline();
    const { id: jobId } = await db("pipeline_job").where({ queued: true }).first("id");
    const added: Job[] = [];
    const queues = { add: async (jobs: readonly Job[]) => void added.push(...jobs) };
    const deps = { ...app.deps, queues } as never;
    const { signal } = new AbortController();
    const head = (await store.head())!;
    const [first] = await agentWatch.reactAll!(
      [{ type: "JobAssigned", data: { jobId, attempt: 1 }, position: head + 1n } as never],
      undefined as never,
    );
    await agentWatchWorker.runJob(first!.data, deps, signal);
    expect(added.map(({ data }) => data["runs"])).to.deep.equal([[{ jobId, attempt: 1 }]]);
    expect(added[0]!.delayMs).to.be.within(1, confirmMs);
    const job = await begin();
    await agentWatchWorker.runJob(added[0]!.data, deps, signal);
    expect(added[1]!.delayMs).to.be.within(confirmMs, silenceMs);
    await put(job, { state: "success" });
    await agentWatchWorker.runJob(added[1]!.data, deps, signal);
    expect(added).to.have.length(2);
    expect(await statusOf(pipeline)).to.equal("SUCCESS");
  });
});

describe("the token of a job", () => {
  const fetched = async (project: string, token: string) => {
    const url = new URL(`${app.url}/project/anna/${project}.git`);
    url.username = "gitlab-ci-token";
    url.password = token;
    const env = { ...process.env, GIT_TERMINAL_PROMPT: "0" };
    return promisify(execFile)("git", ["ls-remote", url.href], { env }).then(
      ({ stdout }) => stdout,
      () => "refused",
    );
  };

  it("fetches the project of the job while it runs, and nothing else", async () => {
    const pipeline = await givenPipeline();
    const job = await begin();
    expect(await fetched(search.alias, job.token)).to.include(String(pipeline["commitId"]));
    expect(await fetched(other.alias, job.token)).to.equal("refused");
    expect((await app.get("/project/anna/search", { token: job.token })).status).to.equal(403);
    await put(job, { state: "success" });
    expect(await fetched(search.alias, job.token)).to.equal("refused");
  });
});

describe("a job that runs for longer than its time", () => {
  it("is failed by the service when its agent does not end it, although it is heard", async () => {
    const pipeline = await givenPipeline("  timeout: 30m\n");
    const job = await begin();
    const heard = async (ms: number, upForMs?: number) => {
      const contact_at = new Date(Date.now() + ms);
      await db("public.job_run").where({ agent_id: agent.id }).update({ contact_at });
      return lookAfter(ms, upForMs);
    };
    expect(await heard(44 * 60_000)).to.be.within(1, 60_000);
    // It could not report the end before.
    expect(await heard(46 * 60_000, 5_000)).to.be.within(1, 55_000);
    expect(await heard(46 * 60_000)).to.equal(undefined);
    expect(await statusOf(pipeline)).to.equal("FAILED");
    const { id } = await db("pipeline").where({ local_id: pipeline["localId"] }).first("id");
    const row = await db("pipeline_job").where({ pipeline_id: id }).first();
    expect(row.failure_reason).to.equal("job_execution_timeout");
    expect((await put(job, { state: "success" })).status).to.equal(403);
  });
});
