import { randomUUID } from "node:crypto";
import { expect } from "chai";
import type { Context } from "koa";

import type { Answer } from "../../../../src/http/core/answer.ts";
import type { Idempotency } from "../../../../src/http/core/idempotency.ts";
import { onceSent } from "../../../../src/http/page/core/once.ts";
import type { PageRoute } from "../../../../src/http/page/core/route.ts";

/** What a form is answered whose outcome was kept before with this body. */
function answered(body: Answer["body"]) {
  const idempotency = { once: async () => ({ status: 303, headers: {}, body }) };
  const sent = {
    ctx: { path: "/console/key", originalUrl: "/console/key", state: { requestId: "r" } },
    route: { operationId: "addKey" },
    fields: { once: randomUUID(), title: "laptop" },
    userId: randomUUID(),
    base: "",
  };
  const typed = {
    ...sent,
    ctx: sent.ctx as unknown as Context,
    route: sent.route as unknown as PageRoute,
  };
  const never = () => Promise.reject(new Error("the form is not run again"));
  return onceSent(typed, idempotency as unknown as Idempotency, never);
}

describe("a form that is sent again", () => {
  it("leads where it led", async () => {
    const body = JSON.stringify({ redirect: "/console/keys" });
    expect(await answered(body)).to.deep.equal({ redirect: "/console/keys" });
  });

  it("leads to the console when a release kept that it was sent, and not where it led", async () => {
    expect(await answered("")).to.deep.equal({ redirect: "/console" });
  });
});
