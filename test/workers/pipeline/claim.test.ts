import { expect } from "chai";

import type { QueuedJob, QueueFilter } from "../../../src/projections/pipeline/queue.ts";
import { claimNextJob } from "../../../src/workers/pipeline/claim.ts";

const agent = { agentId: "agent", tokenHash: "hash", filter: { tags: [], runUntagged: true } };
const queued = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ job: { id: `j${n}` } }) as QueuedJob);

/** Looks of an agent that may take nothing of a queue: how many jobs each leaves out. */
async function looksInto(count: number): Promise<readonly number[]> {
  const looks: number[] = [];
  const find = async ({ except = [], limit }: QueueFilter) => {
    looks.push(except.length);
    const left = queued(count).filter(({ job }) => !except.includes(job.id));
    return { jobs: left.slice(0, limit), areAll: left.length < limit };
  };
  const claim = { ...agent, find, mayTake: async () => false };
  expect(await claimNextJob({} as never, claim)).to.equal(undefined);
  return looks;
}

describe("the next job for an agent", () => {
  it("is looked for once where the look shows all there are", async () => {
    expect(await looksInto(0)).to.deep.equal([0]);
    expect(await looksInto(9)).to.deep.equal([0]);
  });

  it("is looked for behind those that do not fit", async () => {
    expect(await looksInto(10)).to.deep.equal([0, 10]);
    expect(await looksInto(35)).to.deep.equal([0, 10, 30]);
  });
});
