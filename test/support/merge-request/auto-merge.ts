import { expect } from "chai";
import { findMergeRequest } from "../../../src/projections/merge-request/merge-request-query.ts";
import { autoMergeWorker } from "../../../src/workers/merge-request/auto-merge.ts";
import { startTestApp } from "../app/app.ts";
import { type Json, type MergeWorld, mergeWorlds } from "../git/merge-world.ts";

export async function givenAutoMerge() {
  const app = await startTestApp();
  const { people, world: newWorld } = await mergeWorlds(app);
  const { anna, bob, carl } = people;
  const deps = { ...app.deps, outbound: undefined as never, proxy: undefined as never };
  let world: MergeWorld;
  beforeEach(async () => {
    world = await newWorld();
    await configure({ checkCiCdStatus: true });
    await world.open();
  });
  async function configure(body: Json): Promise<void> {
    const at = world.at("/merge-request/approval/configuration/edit");
    expect((await app.send("PATCH", at, { token: anna.token, body })).status).to.equal(200);
  }
  const wait = (body: Json = {}) =>
    world.post(bob, "/merge-request/1/merge", { mergeWhenPipelineSucceeds: true, ...body });
  const view = async () => (await world.get(anna, "/merge-request/1")).body;
  /** One check of whether the merge can be made now. */
  async function look(): Promise<void> {
    const row = await findMergeRequest(app.deps.db, world.project.id, 1);
    await autoMergeWorker.runJob({ mergeRequestId: row!.id }, deps, new AbortController().signal);
  }
  return {
    ...{ app, anna, bob, carl, deps, configure, wait, view, look },
    get world() {
      return world;
    },
  };
}
