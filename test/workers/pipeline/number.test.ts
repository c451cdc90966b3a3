import { expect } from "chai";

import { localIdStream } from "../../../src/events/core/local-id.ts";
import { pipelinesOf } from "../../support/agent/pipeline-app.ts";
import { startTestApp } from "../../support/app/app.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");
const search = await app.givenProject(anna, "search");
const at = pipelinesOf(app, anna, search);
const { store } = app.deps;

describe("the number of a pipeline", () => {
  it("is given once all of its jobs have theirs, without which no request names them", async () => {
    await at.commit({ ".forge-ci.yaml": "a: {script: x}\nb: {script: x}" }, "Add [skip ci]");
    const append = store.append.bind(store);
    let failing = true;
    const hooked: Partial<typeof store> = {
      append: async (stream, ...more) => {
        if (failing && stream === localIdStream("JOB", search.id)) throw new Error("cut off");
        return append(stream, ...more);
      },
    };
    Object.assign(store, hooked);
    try {
      const { status } = await app.post(`${at.base}/cicd/pipeline/start`, { token: at.token });
      expect(status).to.equal(500);
      await app.deps.visible(await app.head());
      expect(await at.pipelines()).to.deep.equal([]);
      failing = false;
      const { localId } = await at.start();
      expect((await at.jobs(localId)).map((job) => job["localId"])).to.deep.equal([1, 2]);
    } finally {
      Object.assign(store, { append });
    }
  });
});
