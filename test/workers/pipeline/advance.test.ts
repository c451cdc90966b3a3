import { expect } from "chai";

import { advancePipeline } from "../../../src/workers/pipeline/advance.ts";
import { startTestApp } from "../../support/app.ts";
import { pipelinesOf } from "../../support/pipeline-app.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");
const search = await app.givenProject(anna, "search");
const at = pipelinesOf(app, anna, search);
const { db, store } = app.deps;

const yaml = `
stages: [build, test]
build: {stage: build, script: x, retry: 1}
test: {stage: test, script: x}
`;

async function typesAfter(position: bigint | undefined): Promise<readonly string[]> {
  const types: string[] = [];
  for await (const { type } of store.readAll(position === undefined ? {} : { after: position })) {
    types.push(type);
  }
  return types;
}

describe("advancing a pipeline", () => {
  it("skips nothing for a job that failed and is tried again, of which the failure alone is shown", async () => {
    await at.commit({ ".forge-ci.yaml": yaml }, "Add [skip ci]");
    const { localId } = await at.start();
    const { id } = await db("pipeline")
      .where({ local_id: Number(localId) })
      .first("id");
    const build = () => db("pipeline_job").where({ pipeline_id: id, name: "build" });
    const before = await store.head();
    await build().update({ status: "FAILED" });
    const visible = async (): Promise<void> => void (await build().update({ status: "PENDING" }));
    const deps = { ...app.deps, visible } as never;
    await advancePipeline(deps, id, { id: "a cause", correlationId: "a cause" });
    expect(await typesAfter(before)).to.deep.equal([]);
  });
});
