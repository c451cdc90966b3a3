import { once } from "node:events";
import net from "node:net";
import { expect } from "chai";
import { z } from "zod";

import { buildApp } from "../../../src/http/core/app.ts";
import { route } from "../../../src/http/core/route.ts";
import { listen } from "../../../src/http/core/server.ts";
import { eventually } from "../../support/app/eventually.ts";
import { machinery, serveRoutes } from "../../support/app/machinery.ts";

const waiting: (() => void)[] = [];
const routes = [
  route({
    method: "post",
    path: "/echo",
    operationId: "echo",
    summary: "Echo",
    tag: "test",
    scope: "none",
    access: "user",
    body: z.object({ a: z.int() }),
    reply: z.object({ a: z.int() }),
    handle: async ({ body }) => body,
  }),
  route({
    method: "get",
    path: "/slow",
    operationId: "getSlow",
    summary: "Wait to be let go",
    tag: "test",
    scope: "none",
    access: "user",
    reply: z.object({ done: z.boolean() }),
    handle: async () => {
      await new Promise<void>((resolve) => waiting.push(resolve));
      return { done: true };
    },
  }),
];

/** Long enough for what a busy machine sends late, and short enough to wait for. */
const timeoutMs = 1_500;
const bodyLimits = { bytesMax: 1000, timeoutMs };
const linger = { smallBytesMax: 0, lingerMsMax: 100 };
const { url } = await serveRoutes(routes, { bodyLimits, linger, headersTimeoutMs: timeoutMs });

/** Sends bytes as they are and gives everything that comes back until the connection ends. */
async function exchange(...parts: readonly string[]): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = net.connect(Number(port), hostname);
  let received = "";
  socket.on("data", (data) => {
    received += data.toString();
  });
  for (const part of parts) socket.write(part);
  await once(socket, "close");
  return received;
}

/** Sends the head alone, and gives what comes back before any byte of the body is sent. */
async function sendFirst(headers: string, body: string): Promise<readonly [string, string]> {
  const { hostname, port } = new URL(url);
  const socket = net.connect(Number(port), hostname);
  socket.write(post(`Connection: close\r\nExpect: 100-continue\r\n${headers}`, ""));
  const [first] = (await once(socket, "data")) as [Buffer];
  let rest = "";
  socket.on("data", (data: Buffer) => {
    rest += data.toString();
  });
  if (first.toString().startsWith("HTTP/1.1 100")) socket.write(body);
  if (!socket.closed) await once(socket, "close");
  return [first.toString(), rest];
}

const post = (headers: string, body: string) =>
  `POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${headers}\r\n\r\n${body}`;

describe("the server", () => {
  it("cuts a connection whose headers do not come", async () => {
    expect(await exchange("GET /slow HTTP/1.1\r\nHost: x\r\nX-A:")).to.match(/^HTTP\/1.1 408 /);
  });

  it("cuts a connection whose body does not come", async () => {
    const received = await exchange(post("Content-Length: 10", '{"a"'));
    expect(received).to.match(/^HTTP\/1.1 408 .*body\.too_slow/s);
    expect(received).to.match(/connection: close/i);
  });

  it("ends the connection when it refuses a body unread", async () => {
    const received = await exchange(post("Content-Length: 5000000", "{"));
    expect(received).to.match(/^HTTP\/1.1 413 .*connection: close.*body\.too_large/is);
  });

  it("ends the connection when a chunked body grows too large", async () => {
    const chunk = `400\r\n${"a".repeat(0x400)}\r\n`;
    const received = await exchange(post("Transfer-Encoding: chunked", chunk));
    expect(received).to.match(/^HTTP\/1.1 413 /);
  });

  for (const [what, bytes, status] of [
    ["what is not HTTP", "EHLO there\r\n\r\n", 400],
    [
      "a length and chunks at once",
      post("Content-Length: 7\r\nTransfer-Encoding: chunked", ""),
      400,
    ],
    ["two lengths", post("Content-Length: 7\r\nContent-Length: 8", ""), 400],
    ["a header with a bare CR", "GET / HTTP/1.1\r\nHost: x\r\nA: b\rc\r\n\r\n", 400],
    ["headers without end", `GET / HTTP/1.1\r\nHost: x\r\nA: ${"b".repeat(20_000)}\r\n\r\n`, 431],
  ] as const) {
    it(`answers ${status} to ${what} and hangs up`, async () => {
      const received = await exchange(bytes);
      expect(received).to.match(new RegExp(`^HTTP/1.1 ${status} `));
      expect(received).to.contain("application/problem+json");
    });
  }

  it("does not take an override of the method", async () => {
    const headers = { "X-HTTP-Method-Override": "POST", "X-HTTP-Method": "POST" };
    const response = await fetch(`${url}/echo?_method=POST`, { headers });
    expect(response.status).to.equal(405);
  });

  it("answers what it has begun before it closes, and takes nothing new", async () => {
    const app = buildApp(machinery(routes));
    const listening = await listen(() => app, { host: "127.0.0.1", port: 0 });
    const answer = fetch(`${listening.url}/slow`).then((response) => response.json());
    await eventually(() => waiting.length > 0, 60_000);

    const closed = listening.close();
    await expect(fetch(`${listening.url}/slow`)).to.be.rejectedWith();
    const start = performance.now();
    for (const letGo of waiting.splice(0)) letGo();
    expect(await answer).to.deep.equal({ done: true });
    await closed;
    // A connection kept alive for more requests would hold it for the whole limit of five seconds.
    expect(performance.now() - start).to.be.lessThan(4_500);
  });
});

describe("a client that sends Expect: 100-continue", () => {
  it("is answered 100, and then the response", async () => {
    const headers = "Content-Length: 7";
    const [first, rest] = await sendFirst(headers, '{"a":1}');
    expect(first).to.match(/^HTTP\/1\.1 100 Continue\r\n\r\n/);
    expect(first + rest)
      .to.contain("HTTP/1.1 200 OK")
      .and.to.contain('{"a":1}');
  });

  it("is answered 413 before it sends too large a body, and the connection is closed", async () => {
    const [first] = await sendFirst("Content-Length: 100000", "");
    expect(first)
      .to.match(/^HTTP\/1\.1 413 /)
      .and.to.match(/^connection: close\r$/im);
  });
});
