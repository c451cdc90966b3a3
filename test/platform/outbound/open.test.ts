import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { expect } from "chai";

import { parseOutboundAllow } from "../../../src/platform/outbound/address.ts";
import { OutboundTimeout, openOutboundHttp } from "../../../src/platform/outbound/http.ts";
import { OutboundRefused } from "../../../src/platform/outbound/url.ts";

const { signal } = new AbortController();
const limits = { firstByteMs: 300, idleMs: 300, signal };
const failure = (opening: Promise<unknown>) =>
  opening.then(
    () => undefined,
    (error: unknown) => error,
  );

describe("an outbound answer that is read as it comes", () => {
  it("comes whole, whatever its size", async () => {
    const url = await given((_request, response) => response.end(Buffer.alloc(3_000_000)));
    const { status, body } = await near.open({
      url,
      ...limits,
      idleMs: 30_000,
      firstByteMs: 30_000,
    });
    expect([status, (await buffer(body)).length]).to.deep.equal([200, 3_000_000]);
  });

  it("fails when nothing comes, at first or later", async () => {
    const silent = await given(() => undefined);
    expect(await failure(near.open({ url: silent, ...limits }))).to.be.instanceOf(OutboundTimeout);
    const stalled = await given((_request, response) => response.write("a beginning"));
    const { body } = await near.open({ url: stalled, ...limits, firstByteMs: 30_000 });
    expect(await failure(buffer(body))).to.be.instanceOf(OutboundTimeout);
  });

  it("is not requested at addresses that are not public", async () => {
    const url = await given((_request, response) => response.end());
    const far = openOutboundHttp({ allow: parseOutboundAllow([]) });
    expect(await failure(far.open({ url, ...limits }))).to.be.instanceOf(OutboundRefused);
  });
});

const near = openOutboundHttp({ allow: parseOutboundAllow(["127.0.0.1/32"]) });

async function given(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}
