import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { expect } from "chai";
import type { Context } from "koa";
import pino from "pino";

import { accessLog } from "../../../src/http/core/access-log.ts";
import { clientSignal, whenClosed } from "../../../src/http/core/peer.ts";
import { transferLimits } from "../../../src/http/core/serve.ts";
import { watchConnection } from "../../../src/http/core/stream.ts";
import { documentsFor } from "../../../src/http/protocol/package/proxy/document-budget.ts";

const response = () => {
  const req = new IncomingMessage(new Socket());
  return { req, res: new ServerResponse(req) };
};

describe("what runs when an answer is out", () => {
  it("takes one listener of the response, whatever waits for it", async () => {
    const { req, res } = response();
    const ctx = { req, res, state: {} } as Context;
    let watched = 0;
    const log = pino({ level: "silent" });
    await accessLog(log, () => (watched += 1))(ctx as never, async () => undefined);
    watchConnection(ctx, transferLimits, () => (watched += 1));
    documentsFor(ctx);
    const signal = clientSignal(ctx)();
    expect(res.listenerCount("close")).to.equal(1);
    res.emit("close");
    expect(watched).to.equal(2);
    expect(signal.aborted).to.equal(true);
  });

  it("runs once, each time it was given, and not when it was taken back", () => {
    const { res } = response();
    const seen: string[] = [];
    const end = () => void seen.push("end");
    whenClosed(res, end);
    whenClosed(res, end);
    whenClosed(res, () => void seen.push("taken back"))();
    res.emit("close");
    res.emit("close");
    expect(seen).to.deep.equal(["end", "end"]);
  });

  it("runs at once when the client has gone before", () => {
    const { res } = response();
    res.destroy();
    let runs = 0;
    whenClosed(res, () => (runs += 1));
    expect(runs).to.equal(1);
  });
});
