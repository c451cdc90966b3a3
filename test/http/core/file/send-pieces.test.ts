import { once } from "node:events";
import { createServer, type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { expect } from "chai";
import Koa from "koa";

import { sendPieces } from "../../../../src/http/core/file/send-pieces.ts";
import { eventually } from "../../../support/app/eventually.ts";

let pieces: AsyncIterable<Buffer>;
const app = new Koa({ proxy: false });
app.on("error", () => undefined);
app.use((ctx) => {
  ctx.type = "application/x-pieces";
  sendPieces(ctx, pieces);
});
const server = createServer(app.callback());

before(async () => {
  await once(server.listen(0, "127.0.0.1"), "listening");
});
after(() => {
  server.closeAllConnections();
  server.close();
});

async function requested(): Promise<IncomingMessage> {
  const { port } = server.address() as AddressInfo;
  const [response] = await once(request({ port, host: "127.0.0.1" }).end(), "response");
  return response as IncomingMessage;
}

/** The same memory for each piece, as those who make pieces have it. */
async function* made(count: number, bytes: number, left?: () => void): AsyncGenerator<Buffer> {
  const piece = Buffer.alloc(bytes);
  try {
    for (let index = 0; index < count; index += 1) yield piece.fill(index % 251);
  } finally {
    left?.();
  }
}

describe("an answer in pieces", () => {
  it("comes whole when each piece is overwritten as soon as the next is requested", async () => {
    pieces = made(200, 100_000);
    const response = await requested();
    expect(response.statusCode).to.equal(200);
    expect(response.headers["content-type"]).to.equal("application/x-pieces");
    // The line is full before anybody reads.
    await eventually(() => response.readableLength > 0);
    const all = await buffer(response);

    expect(all.length).to.equal(20_000_000);
    for (let index = 0; index < 200; index += 1) {
      const piece = all.subarray(index * 100_000, (index + 1) * 100_000);
      expect(piece.equals(Buffer.alloc(100_000, index % 251)), `piece ${index}`).to.equal(true);
    }
  });

  it("is cut when there is an error in the middle, so that nobody takes it for whole", async () => {
    pieces = (async function* () {
      yield Buffer.from("a beginning");
      throw new Error("no more");
    })();
    const reading = buffer(await requested());
    expect(await reading.catch((error: NodeJS.ErrnoException) => error.code)).to.equal(
      "ECONNRESET",
    );
  });

  it("is an error when there is not even a first piece", async () => {
    // biome-ignore lint/correctness/useYield: the first piece fails
    pieces = (async function* () {
      throw new Error("cannot begin");
    })();
    expect((await requested()).statusCode).to.equal(500);
  });

  it("may be empty", async () => {
    pieces = made(0, 1);
    const response = await requested();
    expect([response.statusCode, (await buffer(response)).length]).to.deep.equal([200, 0]);
  });

  it("is left when the caller leaves, who need not have read it", async () => {
    let left = 0;
    pieces = made(Number.POSITIVE_INFINITY, 1_000_000, () => {
      left += 1;
    });
    const response = await requested();
    response.on("error", () => undefined);
    response.destroy();
    await eventually(() => left === 1);
  });
});
