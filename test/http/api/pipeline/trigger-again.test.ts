import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { pipelinesOf } from "../../../support/agent/pipeline-app.ts";
import { startTestApp } from "../../../support/app/app.ts";
import { loseAnswer } from "../../../support/app/lost-answer.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");

describe("a trigger whose creation got no answer", () => {
  it("is answered with the token that it has when the request is repeated", async () => {
    const ci = pipelinesOf(app, anna, await app.givenProject(anna, "again"));
    await ci.commit({ ".forge-ci.yaml": "a: {script: x}" }, "Add [skip ci]");
    const headers = { "idempotency-key": randomUUID() };
    const create = () =>
      app.post(`${ci.base}/cicd/trigger`, { token: anna.token, headers, body: {} });
    const first = await create();
    await loseAnswer(app);
    const { status, body } = await create();
    expect([status, body["id"]]).to.deep.equal([200, first.body["id"]]);
    const order = { body: { token: body["token"], refName: "main" } };
    const started = await app.post(`${ci.base}/cicd/trigger/pipeline`, order);
    expect(started.status, started.text).to.equal(200);
  });
});
