import { expect } from "chai";
import { pipelinesOf } from "../agent/pipeline-app.ts";
import { startTestApp } from "../app/app.ts";
import { eventually } from "../app/eventually.ts";
import { type Json, type MergeWorld, mergeWorlds } from "../git/merge-world.ts";

const yaml = `
every push: {script: x}
check:
  script: x
  rules: [{if: $CI_PIPELINE_SOURCE == "merge_request_event"}]
`;

export const files = { ".forge-ci.yaml": yaml };

export async function givenResults() {
  const app = await startTestApp({ workers: true });
  const { people, world: newWorld } = await mergeWorlds(app);
  const { anna, bob, carl } = people;
  /** A project whose `main` and `feature` have the file, each on a history of its own. */
  async function given() {
    const world = await newWorld();
    await world.push("main", { "main.txt": "main\n" });
    await world.push("feature", files);
    return { world, ci: pipelinesOf(app, anna, world.project) };
  }
  async function listed(world: MergeWorld, user = anna): Promise<readonly Json[]> {
    const { body, text } = await world.get(user, "/merge-request/1/pipelines");
    const { restPipelineModelList: list } = body["_embedded"] as Record<string, Json[]>;
    expect(list, text).to.be.an("array");
    return (list ?? []).filter(({ source }) => source === "MERGE_REQUEST_EVENT");
  }
  /** Once the newest pipeline of the request is another one than before, and has its number. */
  const nextPipeline = (world: MergeWorld, before?: Json) =>
    eventually(async () => {
      const [newest] = await listed(world);
      expect(newest?.["localId"]).to.be.a("number").greaterThan(0);
      expect(newest?.["localId"]).not.to.equal(before?.["localId"]);
      return newest!;
    });
  return {
    ...{ app, newWorld, anna, bob, carl, given, listed, nextPipeline },
  };
}
