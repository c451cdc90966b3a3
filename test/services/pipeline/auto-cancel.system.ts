import { expect } from "chai";

import type { Recorded } from "../../../src/events/core/event.ts";
import { pipelinePush } from "../../../src/workers/pipeline/push.ts";
import { createPipelines, pipelinesOf } from "../../support/agent/pipeline-app.ts";
import { startTestApp } from "../../support/app/app.ts";

// Without workers: the tests choose the order in which pipelines are created.
const app = await startTestApp();
const anna = await app.givenUser("anna");
const { store } = app.deps;

let projects = 0;
async function givenPushes(
  count: number,
  { job = "interruptible: true", message = "Change" } = {},
) {
  projects += 1;
  const project = await app.givenProject(anna, `search${projects}`);
  const ci = pipelinesOf(app, anna, project);
  for (let n = 0; n < count; n += 1) {
    const file = `a: {script: "echo ${n}", ${job}}`;
    await ci.commit({ ".forge-ci.yaml": file }, n === count - 1 ? message : "Change");
  }
  const events: Recorded[] = [];
  for await (const event of store.readStream(`repository-${project.id}`)) {
    if (pipelinePush.types.has(event.type)) events.push(event);
  }
  expect(events).to.have.length(count);
  return { ci, events };
}

/** Status of the pipeline of each push, in the order of pushes. */
async function statusesOf({ ci, events }: Awaited<ReturnType<typeof givenPushes>>) {
  const found = await ci.pipelines();
  const commitOf = ({ data }: Recorded) => data["after"] ?? data["commitId"];
  const of = (event: Recorded) =>
    found.find(({ commitId }) => commitId === commitOf(event))?.["status"];
  return events.map(of);
}

describe("pipelines of pushes to one branch", () => {
  it("are canceled by that of a later push", async () => {
    const pushes = await givenPushes(3);
    await createPipelines(app, pushes.events);
    expect(await statusesOf(pushes)).to.deep.equal(["CANCELED", "CANCELED", "PENDING"]);
  });

  it("are canceled also where that of the last push was created first", async () => {
    const pushes = await givenPushes(3);
    const [first, second, last] = pushes.events;
    await createPipelines(app, [last, second, first] as Recorded[]);
    expect(await statusesOf(pushes)).to.deep.equal(["CANCELED", "CANCELED", "PENDING"]);
  });

  it("go on where the last push started none", async () => {
    const pushes = await givenPushes(3, { message: "Change [skip ci]" });
    await createPipelines(app, pushes.events);
    expect(await statusesOf(pushes)).to.deep.equal(["CANCELED", "PENDING", undefined]);
  });

  it("go on when created late where their file lets no newer one cancel them", async () => {
    const file = "interruptible: true}\nworkflow: {auto_cancel: {on_new_commit: none}";
    const pushes = await givenPushes(2, { job: file });
    const [first, last] = pushes.events;
    await createPipelines(app, [last, first] as Recorded[]);
    expect(await statusesOf(pushes)).to.deep.equal(["PENDING", "PENDING"]);
  });
});
