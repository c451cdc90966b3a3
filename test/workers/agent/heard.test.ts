import { expect } from "chai";

import type { AnyEvent } from "../../../src/events/core/event.ts";
import { jobStream } from "../../../src/events/pipeline/job.ts";
import { pipelineStream } from "../../../src/events/pipeline/pipeline.ts";
import { deterministicId } from "../../../src/platform/deterministic-id.ts";
import { beginRun } from "../../../src/platform/job-log/store.ts";
import type { Job } from "../../../src/platform/queue/queue.ts";
import { heardSince } from "../../../src/projections/agent/heard.ts";
import { findJobById } from "../../../src/projections/pipeline/query.ts";
import { type Watching, watchProjections } from "../../../src/projections/progress/visible.ts";
import { agentWatchWorker, silenceMs, sweepSilentRuns } from "../../../src/workers/agent/watch.ts";
import { ids, queued, taken, token } from "../../support/agent/job-events.ts";
import {
  agentId,
  created,
  pipelineId,
  planned,
  projectId,
  specOf,
} from "../../support/agent/pipeline.ts";
import { eventually } from "../../support/app/eventually.ts";
import { metadataFor } from "../../support/app/history.ts";
import { testWorkers } from "../../support/app/worker-deps.ts";

const open: Watching[] = [];
// Registered before the hook that drops the database.
after(() => Promise.all(open.map((watching) => watching.close())));
const { deps, databaseUrl, clock } = await testWorkers();
const { db, store } = deps;
const { jobId } = ids;

async function append(stream: string, ...events: readonly AnyEvent[]): Promise<void> {
  const named = events.map((event, n) => {
    const id = deterministicId(stream, n);
    return { ...event, id, metadata: metadataFor(id) };
  });
  await deps.visible((await store.append(stream, "none", named)).position);
}

const statusOf = async () => (await findJobById(db, jobId))?.status;

/** A job that an agent runs, which has been silent for an hour. */
before(async () => {
  clock.now = new Date();
  const contact_at = new Date(Date.now() - 3_600_000);
  await append(pipelineStream(pipelineId), created(1), planned(specOf("build")));
  await append(jobStream(jobId), queued(), taken());
  const key = { job_id: jobId, attempt: 1, project_id: projectId, agent_id: agentId };
  await beginRun(db, { ...key, token_hash: token, contact_at, given_position: 1n });
  await db("public.job_run").where({ job_id: jobId }).update({ confirmed_at: contact_at });
});

/** @returns when the run is checked again */
async function checked(): Promise<number | undefined> {
  const added: Job[] = [];
  const queues = { ...deps.queues, add: async (jobs: readonly Job[]) => void added.push(...jobs) };
  const { signal } = new AbortController();
  const data = { runs: [{ jobId, attempt: 1 }], look: 0 };
  await agentWatchWorker.runJob(data, { ...deps, queues }, signal);
  await sweepSilentRuns(deps);
  await deps.visible(await store.head());
  return added[0]?.delayMs;
}

const listening = async (role?: "http") => {
  const watching = await watchProjections({ databaseUrl, db, ...(role && { role }) });
  open.push(watching);
  return watching;
};
describe("an agent whose run goes on while no process answers agents", () => {
  it("is not missed until one has answered for a minute", async () => {
    // One that serves SSH or runs workers answers no agent.
    await listening();
    expect(await checked()).to.be.within(1, 10_000);
    const http = await listening("http");
    clock.now = new Date();
    expect(await checked()).to.be.within(silenceMs - 20_000, silenceMs);
    expect(await statusOf()).to.equal("RUNNING");
    await http.close();
    // The server ends a session some time after its client has left.
    await eventually(async () => (await heardSince(db)) === null);
    clock.now = new Date(Date.now() + silenceMs + 1_000);
    expect(await checked()).to.be.within(1, 10_000);
    expect(await statusOf()).to.equal("RUNNING");
    await listening("http");
    clock.now = new Date(Date.now() + silenceMs + 1_000);
    expect(await checked()).to.equal(undefined);
    expect(await statusOf()).to.equal("FAILED");
  });
});
