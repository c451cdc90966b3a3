import { expect } from "chai";

import {
  noAgentAfterMs,
  stuckAfterMs,
  sweepJobsWithoutAgent,
  sweepStuckJobs,
} from "../../../src/workers/agent/stuck.ts";
import { silenceMs, sweepSilentRuns } from "../../../src/workers/agent/watch.ts";
import { allSweeps } from "../../../src/workers/all.ts";
import { givenAgent } from "../../support/agent/agent.ts";
import { buildsOf, startAppWithAgent } from "../../support/agent/agent-app.ts";
import { agentTalk } from "../../support/agent/agent-job.ts";

const { app, at, runners, put, take, begin } = await startAppWithAgent();
const { db, store } = app.deps;

const { givenPipeline, statusOf } = buildsOf(at);

describe("a job in the queue", () => {
  const swept = async (sweep: typeof sweepStuckJobs, ms: number) => {
    await sweep({ db, store, now: () => new Date(Date.now() + ms) });
    await app.deps.visible(await store.head());
  };

  it("says that no agent fits it, and is taken when one comes", async () => {
    const pipeline = await givenPipeline("  tags: [rare]\nother:\n  script: [make]\n");
    await swept(sweepJobsWithoutAgent, 0);
    expect(await statusOf(pipeline)).to.equal("PENDING");
    await swept(sweepJobsWithoutAgent, noAgentAfterMs + 1_000);
    expect(await at.statuses(pipeline["localId"])).to.deep.equal({
      build: "WAITING_FOR_RESOURCE",
      other: "PENDING",
    });
    const rare = agentTalk(app, (await givenAgent(app, runners, { tag_list: "rare" })).token);
    const taken = [await rare.begin(), await rare.begin()];
    for (const job of taken) await rare.put(job, { state: "success" });
    expect(await statusOf(pipeline)).to.equal("SUCCESS");
  });

  it("fails when no agent took it within a day", async () => {
    const pipeline = await givenPipeline();
    await swept(sweepStuckJobs, stuckAfterMs - 60_000);
    expect(await statusOf(pipeline)).to.equal("PENDING");
    await swept(sweepStuckJobs, stuckAfterMs + 60_000);
    expect(await statusOf(pipeline)).to.equal("FAILED");
    const [row] = await db("pipeline_job").where({ failure_reason: "stuck_or_timeout_failure" });
    expect(row.name).to.equal("build");
  });
});

describe("runs whose checks were lost with their queue", () => {
  it("are ended or returned once their agents are silent", async () => {
    const [confirmed, lost, heard] = [
      await givenPipeline(),
      await givenPipeline(),
      await givenPipeline(),
    ];
    expect(allSweeps).to.include(sweepSilentRuns);
    const jobs = [await begin(), await take(), await begin()];
    const now = () => new Date(Date.now() + 2 * silenceMs + 1_000);
    const { number } = await db("pipeline").where({ local_id: heard["localId"] }).first("number");
    await db.raw(
      `update public.job_run as run set contact_at = ? from pipeline_job as job
       join pipeline on pipeline.id = job.pipeline_id
       where job.id = run.job_id and pipeline.number = ?`,
      [now(), number],
    );
    await sweepSilentRuns({ db, store, now });
    await app.deps.visible(await store.head());
    expect([await statusOf(confirmed), await statusOf(lost), await statusOf(heard)]).to.deep.equal([
      "FAILED",
      "PENDING",
      "RUNNING",
    ]);
    await put(jobs[2]!, { state: "success" });
    await put(await begin(), { state: "success" });
  });
});
