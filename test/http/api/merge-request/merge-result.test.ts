import { expect } from "chai";
import { codeOf } from "../../../support/app/answer.ts";
import { givenResults } from "../../../support/merge-request/results.ts";

const { anna, given, nextPipeline } = await givenResults();

describe("the pipeline of a merge request", () => {
  it("runs on the source where that is in conflict, and is refused for a closed request", async () => {
    const { world } = await given();
    const source = await world.push("feature", { "main.txt": "other\n" });
    await world.open();
    const pipeline = await nextPipeline(world);
    expect(pipeline).to.include({ ref: "refs/merge-requests/1/head", commitId: source });
    await world.post(anna, "/merge-request/1/close");
    expect(codeOf(await world.post(anna, "/merge-request/1/pipelines"))).to.deep.equal([
      422,
      "merge_request.final",
    ]);
  });
});
