import { once } from "node:events";
import { request } from "node:http";
import { type AddressInfo, createServer, type Socket } from "node:net";
import type { Readable } from "node:stream";
import { expect } from "chai";

import { parseOutboundAllow } from "../../../src/platform/outbound/address.ts";
import { openOutboundHttp } from "../../../src/platform/outbound/http.ts";
import { openOutboundProxy } from "../../../src/platform/outbound/proxy.ts";
import { basicAuth } from "../../support/app/basic-auth.ts";

const pieces = 200_000;
const text = Array.from({ length: pieces }, (_, at) => String.fromCharCode(97 + (at % 26)));
const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
const inPieces = `${head}${text.map((one) => `1\r\n${one}\r\n`).join("")}0\r\n\r\n`;
const interim = "HTTP/1.1 100 \r\n\r\n".repeat(1_000);

const allow = parseOutboundAllow(["127.0.0.1/32"]);
const http = openOutboundHttp({ allow });
const proxy = openOutboundProxy({ allow });
after(proxy.close);

/** The address of an upstream that answers each connection with these bytes. */
async function upstream(answer: string): Promise<string> {
  const server = createServer((socket: Socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => socket.end(answer));
  });
  after(() => void server.close());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** The bytes of a body, and how many pieces they came in. */
async function read(body: Readable) {
  const seen: Buffer[] = [];
  body.on("data", (piece: Buffer) => seen.push(piece));
  await once(body, "end");
  return { text: Buffer.concat(seen).toString("latin1"), pieces: seen.length };
}

const open = async (url: string) => {
  const { signal } = new AbortController();
  return http.open({ url, firstByteMs: 60_000, idleMs: 60_000, signal });
};

describe("an answer of an upstream in small pieces", () => {
  it("is passed on in few pieces where it is read as it comes", async () => {
    const { body } = await open(await upstream(inPieces));
    const seen = await read(body);
    expect(seen.text).to.equal(text.join(""));
    expect(seen.pieces).to.be.below(1_000);
  });

  it("is whole where it is read at once, and cut where it is too large", async () => {
    const url = await upstream(inPieces);
    const order = { method: "GET", url, timeoutMs: 60_000 } as const;
    const whole = await http.request({ ...order, bodyBytesMax: pieces });
    expect([whole.body.toString(), whole.bodyTruncated]).to.deep.equal([text.join(""), false]);
    const cut = await http.request({ ...order, bodyBytesMax: 1_000 });
    expect([cut.body.length, cut.bodyTruncated]).to.deep.equal([1_000, true]);
  });

  it("reaches a program through its proxy in few writes", async () => {
    const url = await upstream(inPieces);
    const grant = await proxy.open(url, pieces);
    const { port, username, password } = new URL(grant.proxyUrl);
    const headers = { "proxy-authorization": basicAuth(username, password) };
    const sent = request({ host: "127.0.0.1", port, path: url, headers, agent: false }).end();
    const [answer] = (await once(sent, "response")) as [Readable];
    const seen = await read(answer);
    expect(seen.text).to.equal(text.join(""));
    expect(seen.pieces).to.be.below(1_000);
    grant.close();
  });

  it("is refused behind a flood of 1xx answers", async () => {
    await expect(open(await upstream(interim))).to.be.rejectedWith("answers of 1xx");
  });
});
