import { expect } from "chai";
import { jobStream } from "../../../../src/events/pipeline/job.ts";
import { lockFeed } from "../../../../src/projections/core/checkpoint.ts";
import { startAppWithAgent } from "../../../support/agent/agent-app.ts";

const { app, at, poll } = await startAppWithAgent({ visibleWaitMaxMs: 5_000 });
const { db, store } = app.deps;

/** Whether jobs were given to an agent, in the order of their places. */
async function given(): Promise<readonly boolean[]> {
  const ids: readonly string[] = await db("pipeline_job").orderBy("place").pluck("id");
  const types = ids.map(async (id) => {
    const seen: string[] = [];
    for await (const { type } of store.readStream(jobStream(id))) seen.push(type);
    return seen.includes("JobStarted");
  });
  return Promise.all(types);
}

describe("agents while the read models stand still", () => {
  it("are given one job at most, which none of them gets", async () => {
    await at.commit({ ".forge-ci.yaml": "a: {script: x}\nb: {script: x}" });
    await at.start();
    await db.transaction(async (tx) => {
      // What feeds the read models waits for this lock.
      await lockFeed(tx);
      for (const answer of [await poll(), await poll()]) {
        expect(answer.body, answer.text).to.include({ code: "projection.lagging" });
      }
    });
    expect(await given()).to.deep.equal([true, false]);
    expect((await poll()).status).to.equal(201);
  });
});
