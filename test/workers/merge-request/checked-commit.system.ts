import { expect } from "chai";
import { pipelinesOf } from "../../support/agent/pipeline-app.ts";
import { startTestApp } from "../../support/app/app.ts";
import { eventually } from "../../support/app/eventually.ts";
import { idOf, mergeWorlds } from "../../support/git/merge-world.ts";

const app = await startTestApp({ workers: true });
const { people, world: newWorld } = await mergeWorlds(app);
const { anna, bob } = people;
const yaml = "build:\n  script: [make]\n";

async function given() {
  const world = await newWorld();
  const at = world.at("/merge-request/approval/configuration/edit");
  const body = { checkCiCdStatus: true };
  expect((await app.send("PATCH", at, { token: anna.token, body })).status).to.equal(200);
  const commitId = await world.push("feature", { ".forge-ci.yaml": yaml });
  await world.open();
  const ci = pipelinesOf(app, anna, world.project);
  const wait = () => world.post(bob, "/merge-request/1/merge", { mergeWhenPipelineSucceeds: true });
  const view = async () => (await world.get(anna, "/merge-request/1")).body;
  const pipeline = await eventually(async () => {
    const [newest] = await ci.pipelines("?branch=feature");
    expect(newest).to.include({ commitId });
    return newest ?? {};
  });
  return { world, ci, wait, view, pipeline };
}

describe("a request that waits for its pipeline", () => {
  it("is merged as soon as the pipeline has succeeded", async () => {
    const { ci, wait, view } = await given();
    expect((await view())["mergeRequirements"]).to.include({ LAST_PIPELINE_SUCCESS: false });
    expect((await wait()).body).to.include({ mergeWhenPipelineSucceeds: true });
    await ci.run();
    await eventually(async () => expect(idOf((await view())["status"])).to.equal("MERGED"));
    expect((await view())["mergedBy"]).to.include({ id: bob.id });
  });

  it("waits no longer once the pipeline has failed or was canceled", async () => {
    const { ci, wait, view, pipeline, world } = await given();
    const stopped = () =>
      eventually(async () =>
        expect(await view()).to.include({ mergeWhenPipelineSucceeds: false, canMerge: false }),
      );
    expect((await wait()).body).to.include({ mergeWhenPipelineSucceeds: true });
    await ci.run("RecordJobFailed");
    await stopped();
    const at = `/cicd/pipeline/${pipeline["localId"]}`;
    const restarted = await world.post(anna, `${at}/restart`);
    expect(restarted.status, restarted.text).to.equal(200);
    expect((await wait()).body).to.include({ mergeWhenPipelineSucceeds: true });
    const canceled = await world.post(anna, `${at}/cancel`);
    expect(canceled.status, canceled.text).to.equal(200);
    await stopped();
    expect(idOf((await view())["status"])).to.equal("OPENED");
  });

  it("is merged by a status from outside", async () => {
    const { ci, wait, view, world, pipeline } = await given();
    const report = (status: string) =>
      world.post(bob, `/commit/${pipeline["commitId"]}/status`, { name: "lint", status });
    await report("RUNNING");
    await wait();
    await ci.run();
    await eventually(async () =>
      expect(await ci.pipeline(pipeline["localId"])).to.include({ status: "SUCCESS" }),
    );
    expect(idOf((await view())["status"])).to.equal("OPENED");
    await report("SUCCESS");
    await eventually(async () => expect(idOf((await view())["status"])).to.equal("MERGED"));
  });
});
