import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { allWorkers } from "../../src/workers/all.ts";
import { jobOwners, ownerOfJobs } from "../../src/workers/job-owner.ts";
import { type DeliveryBench, deliveryBench } from "../support/client/delivery-bench.ts";

describe("owners of jobs", () => {
  it("are declared for every queue, and leave places to others", () => {
    expect(Object.keys(jobOwners).sort()).to.deep.equal(
      allWorkers.map(({ queue }) => queue).sort(),
    );
    const alone = allWorkers.filter(({ concurrency }) => concurrency === 1);
    for (const { queue } of alone) expect(ownerOfJobs(queue), queue).to.equal(undefined);
  });

  describe("found by their data", () => {
    let bench: DeliveryBench;
    before(async () => {
      bench = await deliveryBench();
    });
    const ownerOf = (queue: string, data: object) => ownerOfJobs(queue)?.(data, bench.deps);

    it("are the owners of the project, of a webhook, of a delivery that is tried again", async () => {
      const { projectId, webhookId } = await bench.given();
      const deliveryId = await bench.inLine({ projectId, webhookId });
      const owner = bench.ownerId;
      expect(await ownerOf("mirror-sync", { projectId })).to.equal(owner);
      expect(await ownerOf("webhook-delivery", { webhookId, turn: randomUUID() })).to.equal(owner);
      expect(await ownerOf("webhook-retry", { deliveryId, attempt: 2 })).to.equal(owner);
    });

    it("are who pushed, or the owner of a project that nobody pushed to", async () => {
      const { projectId } = await bench.given();
      const pusher = randomUUID();
      const pushed = (userId: string | null) => ({ projectId, metadata: { actor: { userId } } });
      expect(await ownerOf("pipeline-create", pushed(pusher))).to.equal(pusher);
      expect(await ownerOf("pipeline-create", pushed(null))).to.equal(bench.ownerId);
    });

    it("are nobody for malformed data, which the worker refuses", async () => {
      for (const queue of ["mirror-sync", "pipeline-create", "webhook-retry"]) {
        expect(await ownerOf(queue, { projectId: "x" }), queue).to.equal(undefined);
      }
    });
  });
});
