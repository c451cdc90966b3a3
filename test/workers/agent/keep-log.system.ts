import { createHash } from "node:crypto";
import { expect } from "chai";

import type { Recorded } from "../../../src/events/core/event.ts";
import { follow } from "../../../src/http/api/agent/log.ts";
import { findLog, readFoundLog } from "../../../src/http/api/agent/log-source.ts";
import { appendLog } from "../../../src/platform/job-log/store.ts";
import { Refusal } from "../../../src/platform/refusal.ts";
import { referredBlobs } from "../../../src/projections/git/blob-reference.ts";
import { findJob } from "../../../src/projections/pipeline/query.ts";
import { bytesTaken, noRepository } from "../../../src/projections/project/repository-size.ts";
import {
  jobLogEnd,
  jobLogRemoval,
  jobLogRemovalWorker,
  jobLogWorker,
} from "../../../src/workers/agent/keep-log.ts";
import { fileSize } from "../../../src/workers/repository/size.ts";
import { startAppWithAgent } from "../../support/agent/agent-app.ts";
import { refused } from "../../support/app/refused.ts";

// Without workers: what they do, and when, is said here.
const { app, token, search, at, put, begin, patch } = await startAppWithAgent();
const { db, store } = app.deps;
const deps = { ...app.deps, outbound: undefined as never, proxy: undefined as never } as never;
const { signal } = new AbortController();
const text = "one\ntwo\nthree\n";
const sha256 = createHash("sha256").update(text).digest("hex");

before(async () => {
  await at.commit({ ".forge-ci.yaml": "a: {script: x}" }, "Add [skip ci]");
});

/** A job that has sent its log and goes on, and how to read what is kept of it. */
async function given(log = text) {
  const { localId } = await at.start();
  const job = await begin();
  if (log !== "") await patch(job, 0, log);
  const [view] = await at.jobs(localId);
  const row = (await findJob(db, search.id, Number(view!["localId"])))!;
  const path = `${at.base}/cicd/job/${row.local_id}`;
  const key = { job_id: row.id, attempt: 1 };
  const read = async (headers = {}) => (await app.get(`${path}/log`, { token, headers })).text;
  const chunks = () => db("public.job_log_chunk").where({ job_id: row.id });
  return { localId, job, row, key, path, read, chunks };
}

async function eventsOf(id: string, ...types: readonly string[]): Promise<readonly Recorded[]> {
  const found: Recorded[] = [];
  for await (const event of store.readAll()) {
    const isIts = event.data["jobId"] === id || event.data["pipelineId"] === id;
    if (types.includes(event.type) && isIts) found.push(event);
  }
  return found;
}

/** Runs the jobs that follow the ends of the runs of a job, on each call. */
async function keep(jobId: string, using = deps): Promise<void> {
  for (const event of await eventsOf(jobId, "JobSucceeded", "JobFailed", "JobCanceled")) {
    for (const { data } of await jobLogEnd.react(event, deps)) {
      await jobLogWorker.runJob(data, using, signal);
    }
  }
}

const storedOf = async (jobId: string) =>
  (await eventsOf(jobId, "JobLogStored")).map(({ data }) => data);

const artifactsIn = (body: Readonly<Record<string, unknown>>): readonly unknown[] =>
  (body["_embedded"] as { restPipelineJobArtifactModelList: unknown[] })
    .restPipelineJobArtifactModelList;

describe("the log of a run that has ended", () => {
  it("becomes a blob that an event names, and is read from it", async () => {
    const { job, row, key, read, chunks } = await given();
    await put(job, { state: "success" });
    const grown = (await findLog({ db }, key))!;
    await keep(row.id);
    await keep(row.id);
    expect(await storedOf(row.id)).to.have.length(1);
    expect((await storedOf(row.id))[0]).to.include({ attempt: 1, bytes: text.length, sha256 });
    expect(await chunks()).to.deep.equal([]);
    expect(await read()).to.equal(text);
    expect(await read({ range: "bytes=4-6" })).to.equal("two");
    // Who began to read while it grew goes on in the blob.
    const parts: Buffer[] = [];
    const portion = { first: 4, last: grown.bytes - 1 };
    for await (const part of readFoundLog(app.deps, grown, portion)) parts.push(part);
    expect([grown.sha256, Buffer.concat(parts).toString()]).to.deep.equal([null, "two\nthree\n"]);
    const following = { jobId: row.id, from: 4, signal, mustStillMay: async () => undefined };
    const streamed: string[] = [];
    for await (const event of follow(app.deps, following)) streamed.push(event);
    expect(streamed.join("")).to.include('data: "two\\nthree\\n"').and.include("event: end");
    // All that is not in the log of events is gone.
    await db("public.job_run").where({ job_id: row.id }).delete();
    expect(await read()).to.equal(text);
  });

  it("is an artifact of the job, which is downloaded and not locked", async () => {
    const { localId, job, row, path } = await given();
    await put(job, { state: "success" });
    const listed = async (of: string) => {
      const { body } = await app.get(`${at.base}/cicd/${of}/artifacts`, { token });
      expect(body["page"]).to.include({ totalElements: artifactsIn(body).length });
      return artifactsIn(body);
    };
    expect(await listed(`job/${row.local_id}`)).to.deep.equal([]);
    await keep(row.id);
    const downloadUrl = `${path}/artifact/${row.id}/download`;
    const trace = {
      ...{ id: row.id, fileName: "job.log", fileType: "trace", downloadUrl },
      ...{ size: text.length, expireAt: null, locked: false, jobLocalId: row.local_id },
    };
    expect(await listed(`job/${row.local_id}`)).to.deep.equal([trace]);
    expect(await listed(`pipeline/${localId}`)).to.deep.equal([trace]);
    const read = await app.get(downloadUrl, { token, headers: { range: "bytes=4-6" } });
    expect([read.status, read.text]).to.deep.equal([206, "two"]);
    const locked = await app.post(`${path}/${row.id}/lock`, { token });
    expect([locked.status, locked.body["code"]]).to.deep.equal([422, "artifact.is_log"]);
    const other = await given();
    const elsewhere = `${other.path}/artifact/${row.id}/download`;
    expect((await app.get(elsewhere, { token })).status).to.equal(404);
    await put(other.job, { state: "success" });
  });

  it("is stored once when the step is cut off, and takes nothing more", async () => {
    const { job, row, key, read, chunks } = await given();
    await put(job, { state: "failed" });
    const visible = async (position: bigint | undefined): Promise<void> => {
      const isStored = (await storedOf(row.id)).length > 0;
      if (isStored) throw new Refusal("unavailable", "test.cut_off", "The process ends here.");
      await app.deps.visible(position);
    };
    const dying = { ...app.deps, visible } as never;
    await refused(() => keep(row.id, dying), "test.cut_off");
    expect(await chunks()).not.to.deep.equal([]);
    const late = { first: text.length, data: Buffer.from("late"), forms: [] };
    expect((await appendLog(db, key, late)).fits).to.equal(false);
    await keep(row.id);
    expect(await storedOf(row.id)).to.have.length(1);
    expect([await chunks(), await read()]).to.deep.equal([[], text]);
  });

  it("is stored with those that end at the same time, also when another cannot be", async () => {
    const runs = [await given("first\n"), await given("second\n")];
    for (const { job } of runs) await put(job, { state: "success" });
    const ids = runs.map(({ row }) => row.id);
    const ends = (await Promise.all(ids.map((id) => eventsOf(id, "JobSucceeded")))).flat();
    const [step, ...others] = await jobLogEnd.reactAll!(ends, deps);
    expect(others).to.deep.equal([]);
    const { blobs } = app.deps;
    let puts = 0;
    const putPlain: typeof blobs.putPlain = async (...given) => {
      puts += 1;
      if (puts === 1) throw new Refusal("unavailable", "test.full", "No space is left.");
      return blobs.putPlain(...given);
    };
    const failing = { ...app.deps, blobs: { ...blobs, putPlain } } as never;
    await refused(() => jobLogWorker.runJob(step!.data, failing, signal), "test.full");
    const stored = async () => Promise.all(ids.map(async (id) => (await storedOf(id)).length));
    expect(await stored()).to.deep.equal([0, 1]);
    await jobLogWorker.runJob(step!.data, deps, signal);
    expect(await stored()).to.deep.equal([1, 1]);
  });

  it("is that of each run of a job, also of one that was canceled", async () => {
    const { row, path, read, localId } = await given();
    expect((await app.post(`${path}/cancel`, { token })).status).to.equal(200);
    const restarted = await app.post(`${path}/restart`, { token });
    expect(restarted.status, restarted.text).to.equal(200);
    const again = await begin();
    await keep(row.id);
    expect(await read()).to.equal("");
    await patch(again, 0, "second");
    await put(again, { state: "success" });
    await keep(row.id);
    expect((await storedOf(row.id)).map(({ attempt, bytes }) => [attempt, bytes])).to.deep.equal([
      [1, text.length],
      [2, 6],
    ]);
    expect(await read()).to.equal("second");
    expect((await at.jobs(localId))[0]).to.include({ status: "SUCCESS" });
  });

  it("keeps what was held back of a run that its agent did not end, as stars", async () => {
    const { job, row, path, read } = await given();
    const beginning = job.token.slice(0, 5);
    await patch(job, text.length, `last ${beginning}`);
    expect((await app.post(`${path}/cancel`, { token })).status).to.equal(200);
    expect(await read()).to.equal(`${text}last `);
    await keep(row.id);
    expect(await read()).to.equal(`${text}last *****`);
  });

  it("is none for a run that wrote nothing", async () => {
    const { job, row, read } = await given("");
    await put(job, { state: "success" });
    await keep(row.id);
    expect(await storedOf(row.id)).to.deep.equal([]);
    expect(await read()).to.equal("");
  });

  it("counts in the size of its project", async () => {
    const size = () => bytesTaken(db, search.id, noRepository);
    const before = await size();
    const { job, row, localId } = await given();
    await put(job, { state: "success" });
    await keep(row.id);
    expect(await size()).to.equal(before + text.length);
    const of = { projectId: search.id };
    for (const event of await eventsOf(row.id, "JobLogStored")) {
      const [measured] = await fileSize.react(event, deps);
      expect(measured).to.deep.include({ queue: "repository-size", data: of });
    }
    await app.delete(`${at.base}/cicd/pipeline/${localId}/delete`, { token });
    expect(await size()).to.equal(before);
    const [gone] = await eventsOf(row.pipeline_id, "PipelineDeleted");
    expect((await fileSize.react(gone!, deps))[0]).to.deep.include({ data: of });
    expect([...fileSize.types]).to.include.members(["JobLogStored", "PipelineDeleted"]);
  });

  it("goes with its pipeline", async () => {
    const own = "of this run alone\n";
    const digest = createHash("sha256").update(own).digest("hex");
    const { job, row, localId } = await given(own);
    await put(job, { state: "success" });
    await keep(row.id);
    expect([...(await referredBlobs(db, [digest]))]).to.deep.equal([digest]);
    const gone = await app.delete(`${at.base}/cicd/pipeline/${localId}/delete`, { token });
    expect(gone.status, gone.text).to.equal(200);
    for (const event of await eventsOf(row.pipeline_id, "PipelineDeleted")) {
      for (const { data } of await jobLogRemoval.react(event, deps)) {
        await jobLogRemovalWorker.runJob(data, deps, signal);
      }
    }
    expect([...(await referredBlobs(db, [digest]))]).to.deep.equal([]);
    expect(await db("public.job_run").where({ job_id: row.id })).to.deep.equal([]);
  });
});
