import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { startAppWithAgent } from "../../../support/agent/agent-app.ts";
import { loseAnswer } from "../../../support/app/lost-answer.ts";

const { app, runners } = await startAppWithAgent();

/** Sends a request, loses its answer and repeats it. @returns both tokens */
async function twice(path: string, body: object): Promise<readonly unknown[]> {
  const headers = { "idempotency-key": randomUUID() };
  const send = async () => {
    const { status, body: answer, text } = await app.post(path, { headers, body });
    expect(status, text).to.equal(201);
    return answer["token"];
  };
  const first = await send();
  await loseAnswer(app);
  return [first, await send()];
}

const verified = async (token: unknown) =>
  (await app.post("/api/v4/runners/verify", { body: { token } })).status;

describe("the token of an agent whose answer was lost", () => {
  it("is answered again to the repeated registration and to the repeated reset", async () => {
    const at = `${runners.base}/registration-info`;
    const { registrationToken } = (await app.get(at, runners)).body;
    const body = { token: registrationToken, run_untagged: true };
    const [registered, again] = await twice("/api/v4/runners", body);
    expect(again).to.equal(registered);
    expect(await verified(again)).to.equal(200);

    const reset = "/api/v4/runners/reset_authentication_token";
    const [next, nextAgain] = await twice(reset, { token: again });
    expect(nextAgain).to.equal(next).and.not.to.equal(again);
    expect(await verified(nextAgain)).to.equal(200);
    expect(await verified(again)).to.equal(403);
  });
});
