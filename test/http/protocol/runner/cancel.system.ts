import { expect } from "chai";

import { follow } from "../../../../src/http/api/agent/log.ts";
import type { Job } from "../../../../src/platform/queue/queue.ts";
import { findJobLog } from "../../../../src/projections/agent/job-log.ts";
import { findJob } from "../../../../src/projections/pipeline/query.ts";
import { jobLogEnd, jobLogWorker } from "../../../../src/workers/agent/keep-log.ts";
import { info } from "../../../support/agent/agent.ts";
import { startAppWithAgent } from "../../../support/agent/agent-app.ts";
import type { TakenJob } from "../../../support/agent/agent-job.ts";
import type { Answer } from "../../../support/app/app.ts";

// Without workers: what they do, and when, is said here.
const { app, token, search, at, poll, put, patch } = await startAppWithAgent();
const { db, store } = app.deps;
const graceful = { info: { ...info, features: { ...info.features, cancel_gracefully: true } } };

const said = ({ status, headers }: Answer) => [status, headers.get("job-status")];
const running = { state: "running" };
const stopped = { state: "failed", failure_reason: "job_canceled" };

/** A canceled job whose agent had sent some of its log. */
async function canceled(about: Readonly<Record<string, unknown>> = graceful) {
  const { localId } = await at.start();
  const job = (await poll(about)).body as TakenJob;
  await put(job, running);
  await patch(job, 0, "made\n");
  const [view] = await at.jobs(localId);
  const path = `${at.base}/cicd/job/${view?.["localId"]}`;
  const answer = await app.post(`${path}/cancel`, { token });
  expect(answer.status, answer.text).to.equal(200);
  const row = (await findJob(db, search.id, Number(view?.["localId"])))!;
  const key = { job_id: row.id, attempt: 1 };
  const log = async () => (await app.get(`${path}/log`, { token })).text;
  return { localId, job, row, key, log };
}

const statusOf = async (localId: unknown) => (await at.jobs(localId))[0]?.["status"];
const asJob = ({ token: own }: TakenJob) =>
  app.get(`${at.base}/release`, { headers: { "job-token": own } });

/** Does what follows the end of a job, and answers what is to be done later. */
async function keepLog(id: string, over: object = {}): Promise<readonly Job[]> {
  const later: Job[] = [];
  const queues = { add: async (jobs: readonly Job[]) => void later.push(...jobs) };
  const deps = { ...app.deps, queues, ...over } as never;
  for await (const event of store.readAll()) {
    if (event.data["jobId"] !== id || event.type !== "JobCanceled") continue;
    for (const { data } of await jobLogEnd.reactAll!([event], deps)) {
      await jobLogWorker.runJob(data, deps, new AbortController().signal);
    }
  }
  return later;
}

describe("a canceled job whose agent stops gracefully", () => {
  before(async () => {
    await at.commit({ ".forge-ci.yaml": "a: {script: x, after_script: [y]}" }, "Add [skip ci]");
  });

  it("is CANCELED at once, while its agent goes on with the log", async () => {
    const { localId, job, log } = await canceled();
    expect(await statusOf(localId)).to.equal("CANCELED");
    expect(said(await put(job, running))).to.deep.equal([200, "canceling"]);
    expect(said(await patch(job, 5, "cleaned\n"))).to.deep.equal([202, "canceling"]);
    const short = { ...stopped, output: { bytesize: 99 } };
    expect(said(await put(job, short))).to.deep.equal([202, "canceling"]);
    expect(said(await put(job, stopped))).to.deep.equal([200, "canceled"]);
    expect(await log()).to.equal("made\ncleaned\n");
    expect(await statusOf(localId)).to.equal("CANCELED");
  });

  it("keeps its token until the agent has stopped", async () => {
    const { job } = await canceled();
    expect((await asJob(job)).status).to.equal(200);
    await put(job, stopped);
    expect((await asJob(job)).status).to.equal(403);
    expect(said(await put(job, running))).to.deep.equal([403, "canceled"]);
    expect(said(await patch(job, 5, "more"))).to.deep.equal([403, "canceled"]);
  });

  it("records no success, whatever the agent says", async () => {
    const { localId, job, row } = await canceled();
    expect(said(await put(job, { state: "success" }))).to.deep.equal([200, "canceled"]);
    expect(await statusOf(localId)).to.equal("CANCELED");
    for await (const { type, data } of store.readAll()) {
      if (data["jobId"] === row.id) expect(type).not.to.match(/^Job(?:Succeeded|Failed)$/);
    }
  });

  it("ends when it is run once more", async () => {
    const { job, row } = await canceled();
    const path = `${at.base}/cicd/job/${row.local_id}`;
    expect((await app.post(`${path}/restart`, { token })).status).to.equal(200);
    expect((await put(job, running)).status).to.equal(403);
    expect((await asJob(job)).status).to.equal(403);
    const again = (await poll(graceful)).body as TakenJob;
    expect((await put(again, running)).status).to.equal(200);
    await put(again, { state: "success" });
  });

  it("shows what comes after the script to those who follow the log", async () => {
    const { job, row } = await canceled();
    const { signal } = new AbortController();
    const mustStillMay = async (): Promise<void> => undefined;
    const events = follow(app.deps, { jobId: row.id, from: 0, signal, mustStillMay });
    const read: string[] = [];
    for await (const event of events) {
      read.push(event);
      if (event.includes("made")) {
        await patch(job, 5, "cleaned\n");
        await put(job, stopped);
      }
    }
    expect(read.join("")).to.include("cleaned");
  });

  it("has its log kept when the agent has stopped, or when its time is over", async () => {
    const { job, row, key } = await canceled();
    const [later, ...others] = await keepLog(row.id);
    expect(others).to.deep.equal([]);
    expect(later?.delayMs).to.be.within(6 * 60_000, 8 * 60_000);
    expect(await findJobLog(db, key)).to.equal(undefined);
    await patch(job, 5, "cleaned\n");
    const until = new Date(Date.now() + Number(later?.delayMs));
    const now = () => until;
    const deps = { ...app.deps, now } as never;
    await jobLogWorker.runJob(later?.data, deps, new AbortController().signal);
    expect((await findJobLog(db, key))?.bytes).to.equal(13n);
  });

  it("is over when its agent takes longer than it may", async () => {
    const { job, row } = await canceled();
    await db("public.job_run")
      .where({ job_id: row.id })
      .update({ canceling_until: new Date(Date.now() - 1) });
    expect(said(await put(job, running))).to.deep.equal([403, "canceled"]);
    expect((await asJob(job)).status).to.equal(403);
  });

  it("stops at once where the agent does not know how", async () => {
    const { job, row, key } = await canceled({ info });
    expect(said(await put(job, running))).to.deep.equal([403, "canceled"]);
    expect((await asJob(job)).status).to.equal(403);
    expect(await keepLog(row.id)).to.deep.equal([]);
    expect((await findJobLog(db, key))?.bytes).to.equal(5n);
  });
});

describe("a canceled job that was started anew", () => {
  it("gives its run no second time when it is canceled again before another one", async () => {
    await at.commit({ ".forge-ci.yaml": "a: {script: x, when: manual}" }, "[skip ci]");
    const { localId } = await at.start();
    const [view] = await at.jobs(localId);
    const job = `${at.base}/cicd/job/${view?.["localId"]}`;
    await app.post(`${job}/play`, { token });
    const run = (await poll(graceful)).body as TakenJob;
    await put(run, running);
    const pipeline = `${at.base}/cicd/pipeline/${localId}`;
    for (const step of [`${job}/cancel`, `${pipeline}/restart`, `${job}/cancel`]) {
      expect((await app.post(step, { token })).status, step).to.equal(200);
    }
    expect(said(await put(run, running))).to.deep.equal([403, "canceled"]);
    expect((await asJob(run)).status).to.not.equal(200);
  });
});
