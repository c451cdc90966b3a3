import { expect } from "chai";
import { eventually } from "../../../support/app/eventually.ts";
import { file, givenJobs } from "../../../support/pipeline/jobs.ts";

const { app, givenPipelines } = await givenJobs();

describe("a job", () => {
  it("is passed over when it is canceled and may fail", async () => {
    const ci = await givenPipelines();
    const jobs = ["a: {stage: build, script: x, allow_failure: true}", "b: {script: x}"];
    await ci.commit({ [file]: jobs.join("\n") }, "Add [skip ci]");
    const { localId } = await ci.start();
    const [{ localId: job } = {}] = await ci.jobs(localId);
    await app.post(`${ci.base}/cicd/job/${job}/cancel`, { token: ci.token });
    expect(await ci.statuses(localId)).to.deep.equal({ a: "CANCELED", b: "PENDING" });
    await ci.run();
    await eventually(async () =>
      expect(await ci.pipeline(localId)).to.include({ status: "WARNING" }),
    );
    const next = await ci.start();
    await app.post(`${ci.base}/cicd/pipeline/${next["localId"]}/cancel`, { token: ci.token });
    expect(await ci.pipeline(next["localId"])).to.include({ status: "CANCELED" });
  });

  it("is tried again as often as its file says", async () => {
    const ci = await givenPipelines();
    await ci.commit({ [file]: "a: {script: x, retry: 1}" }, "Add [skip ci]");
    const { localId } = await ci.start();
    await ci.run("RecordJobFailed");
    await ci.run("RecordJobFailed");
    await eventually(async () =>
      expect(await ci.pipeline(localId)).to.include({ status: "FAILED" }),
    );
    expect(await ci.claim()).to.equal(undefined);
  });

  it("waits for the other job of its resource group", async () => {
    const ci = await givenPipelines();
    await ci.commit({ [file]: "a: {script: x, resource_group: prod}" }, "Add [skip ci]");
    await ci.start();
    const { localId } = await ci.start();
    expect(await ci.pipeline(localId)).to.include({ status: "WAITING_FOR_RESOURCE" });
    await ci.run();
    await ci.run();
    await eventually(async () =>
      expect(await ci.pipeline(localId)).to.include({ status: "SUCCESS" }),
    );
  });

  it("is the only one of its resource group that is queued, of many whose turn comes at once", async () => {
    const ci = await givenPipelines();
    const names = Array.from({ length: 16 }, (_, number) => `job${number}`);
    const jobs = names.map((name) => `${name}: {script: x, resource_group: prod}`);
    await ci.commit({ [file]: jobs.join("\n") }, "Add [skip ci]");
    const { localId } = await ci.start();
    const statuses = Object.values(await ci.statuses(localId)).sort();
    expect(statuses).to.deep.equal([
      "PENDING",
      ...Array.from({ length: 15 }, () => "WAITING_FOR_RESOURCE"),
    ]);
  });

  it("is given to one agent, however many request one at once", async () => {
    const ci = await givenPipelines();
    await ci.commit({ [file]: "a: {script: x}\nb: {script: x}" }, "Add [skip ci]");
    await ci.start();
    const claimed = await Promise.all(Array.from({ length: 12 }, () => ci.claim()));
    const names = claimed.flatMap((row) => row?.name ?? []);
    expect(names.sort()).to.deep.equal(["a", "b"]);
  });
});
