import { expect } from "chai";

import { startTestApp } from "../../support/app.ts";
import { type Json, mergeWorlds } from "../../support/merge-world.ts";
import { pipelinesOf } from "../../support/pipeline-app.ts";

const app = await startTestApp();
const { people, world: newWorld } = await mergeWorlds(app);
const { anna, bob, carl } = people;
const yaml = { ".forge-ci.yaml": "build:\n  script: [make]\n" };

describe("the pipelines of a merge request", () => {
  it("are those of the commits it brings, newest first, also after the merge", async () => {
    const world = await newWorld();
    const ci = pipelinesOf(app, anna, world.project);
    const listed = async (query = "") => {
      const { body, text } = await world.get(carl, `/merge-request/1/pipelines${query}`);
      const { restPipelineModelList: list } = body["_embedded"] as Record<string, Json[]>;
      expect(list, text).to.be.an("array");
      return { ids: list?.map(({ localId }) => localId), page: body["page"] };
    };
    await world.push("main", yaml);
    await world.push("feature", yaml);
    await world.open();
    expect((await listed()).ids).to.deep.equal([]);
    const feature = { refName: "feature", isTag: false };
    await ci.start(feature);
    await ci.start();
    await world.push("feature", { "b.txt": "b\n" });
    await ci.start(feature);
    expect((await listed()).ids).to.deep.equal([3, 1]);
    const second = await listed("?size=1&page=1");
    expect(second.ids).to.deep.equal([1]);
    expect(second.page).to.include({ totalElements: 2 });
    const merged = await world.post(bob, "/merge-request/1/merge");
    expect(merged.status, merged.text).to.equal(200);
    expect((await listed()).ids).to.deep.equal([3, 1]);
    expect((await world.get(carl, "/merge-request/2/pipelines")).status).to.equal(404);
  });
});
