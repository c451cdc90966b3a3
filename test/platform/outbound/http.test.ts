import { createServer, type Socket } from "node:net";
import { expect } from "chai";

import { parseOutboundAllow } from "../../../src/platform/outbound/address.ts";
import {
  type OutboundRequest,
  OutboundTimeout,
  openOutboundHttp,
} from "../../../src/platform/outbound/http.ts";
import type { Resolve } from "../../../src/platform/outbound/resolve.ts";
import { OutboundRefused } from "../../../src/platform/outbound/url.ts";
import { startReceiver } from "../../support/client/receiver.ts";

describe("guarded outbound requests", () => {
  let receiver: Awaited<ReturnType<typeof startReceiver>>;
  before(async () => {
    receiver = await startReceiver();
  });
  beforeEach(() => receiver.reset());

  const order = (url: string, rest: Partial<OutboundRequest> = {}): OutboundRequest => ({
    method: "POST",
    url,
    timeoutMs: 30_000,
    bodyBytesMax: 8_192,
    ...rest,
  });
  const allowing = (...entries: string[]) =>
    openOutboundHttp({ allow: parseOutboundAllow(entries) });
  const trusting = () => allowing("127.0.0.1/32");

  it("sends method, path, headers and body, and gives the whole answer", async () => {
    receiver.answer((response) => response.writeHead(201, { "X-Seen": "yes" }).end("done"));

    const response = await trusting().request(
      order(`${receiver.url}?a=b`, { headers: { "x-one": "1" }, body: '{"é":1}' }),
    );

    expect(response).to.deep.include({ status: 201, bodyTruncated: false, address: "127.0.0.1" });
    expect(response.headers["x-seen"]).to.equal("yes");
    expect(response.body.toString()).to.equal("done");
    expect(response.totalMs).to.be.at.least(response.firstByteMs);
    const [seen] = receiver.received;
    expect(seen).to.deep.include({ method: "POST", path: "/hook?a=b", body: '{"é":1}' });
    expect(seen?.headers).to.include({ "x-one": "1", host: `127.0.0.1:${receiver.port}` });
  });

  it("does not follow a redirect", async () => {
    const inner = await startReceiver();
    receiver.answer((response) => response.writeHead(307, { location: inner.url }).end());

    expect(await trusting().request(order(receiver.url))).to.deep.include({ status: 307 });
    expect(inner.received).to.deep.equal([]);
  });

  for (const host of ["127.0.0.1", "127.1", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"]) {
    it(`does not reach ${host}, however it is spelled`, async () => {
      const url = `http://${host}:${receiver.port}/hook`;
      await expect(allowing().request(order(url))).to.be.rejectedWith(OutboundRefused);
      expect(receiver.received).to.deep.equal([]);
    });
  }

  describe("with a name", () => {
    const answering = (...answers: string[][]) => {
      const hostnames: string[] = [];
      const resolve: Resolve = (hostname, done) => {
        const answer = answers[Math.min(hostnames.push(hostname), answers.length) - 1] ?? [];
        done(
          null,
          answer.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
        );
      };
      return { hostnames, resolve };
    };
    const named = () => order(`http://hook.example:${receiver.port}/hook`);
    const none = parseOutboundAllow([]);

    for (const answer of [
      ["127.0.0.1"],
      ["::1"],
      ["::ffff:127.0.0.1"],
      ["10.0.0.1"],
      ["169.254.169.254"],
      ["8.8.8.8", "127.0.0.1"],
      ["127.0.0.1", "8.8.8.8"],
      [],
    ]) {
      it(`is refused when the name resolves to [${answer}]`, async () => {
        const { resolve } = answering(answer);
        const outbound = openOutboundHttp({ allow: none, resolve });
        await expect(outbound.request(named())).to.be.rejectedWith(OutboundRefused);
        expect(receiver.received).to.deep.equal([]);
      });
    }

    it("connects to the address it checked, asking only once", async () => {
      const { hostnames, resolve } = answering(["127.0.0.1"], ["10.0.0.1"]);
      const outbound = openOutboundHttp({ allow: parseOutboundAllow(["127.0.0.1/32"]), resolve });

      expect(await outbound.request(named())).to.deep.include({ status: 200 });
      expect(hostnames).to.deep.equal(["hook.example"]);
      expect(receiver.received[0]?.headers.host).to.equal(`hook.example:${receiver.port}`);
    });

    it("checks again for every request, so an answer that changed is refused", async () => {
      const { resolve } = answering(["127.0.0.1"], ["127.0.0.2"]);
      const outbound = openOutboundHttp({ allow: parseOutboundAllow(["127.0.0.1/32"]), resolve });

      await outbound.request(named());
      await expect(outbound.request(named())).to.be.rejectedWith(OutboundRefused);
      expect(receiver.received).to.have.length(1);
    });

    it("refuses a name of the real resolver that means this machine", async () => {
      // The trailing label keeps it from being refused by its spelling alone.
      const { resolve } = answering(["127.0.0.1"]);
      const outbound = openOutboundHttp({ allow: none, resolve });
      expect(() => outbound.checkUrl("http://loopback.example/")).not.to.throw();
      await expect(outbound.request(named())).to.be.rejectedWith("public internet");
      await expect(
        allowing().request(order(`http://localhost:${receiver.port}/`)),
      ).to.be.rejectedWith(OutboundRefused);
    });

    it("reaches a host and port the operator listed, whatever it resolves to", async () => {
      const { resolve } = answering(["127.0.0.1"]);
      const allow = parseOutboundAllow([`hook.example:${receiver.port}`]);
      const outbound = openOutboundHttp({ allow, resolve });

      expect(await outbound.request(named())).to.deep.include({ status: 200 });
      await expect(outbound.request(order("http://hook.example/"))).to.be.rejectedWith(
        OutboundRefused,
      );
    });
  });

  it("gives up when no answer comes in time", async () => {
    receiver.answer(() => undefined);
    await expect(trusting().request(order(receiver.url, { timeoutMs: 50 }))).to.be.rejectedWith(
      OutboundTimeout,
      "50 ms",
    );
  });

  it("keeps the status of an answer whose body does not end in time", async () => {
    receiver.answer((response) => void response.writeHead(200).write("begun"));
    const within = (timeoutMs: number) => trusting().request(order(receiver.url, { timeoutMs }));
    // On a busy machine the status itself may need longer.
    const response = await within(300)
      .catch(() => within(3_000))
      .catch(() => within(30_000));
    expect(response).to.deep.include({ status: 200, bodyTruncated: true });
    expect(response.body.toString()).to.equal("begun");
  });

  it("reads no more of the body than bodyBytesMax", async () => {
    receiver.answer((response) => void response.end("x".repeat(1_000_000)));
    const response = await trusting().request(order(receiver.url, { bodyBytesMax: 10 }));
    expect(response).to.deep.include({ status: 200, bodyTruncated: true });
    expect(response.body.toString()).to.equal("x".repeat(10));
  });

  it("distinguishes a body of exactly the limit from a longer one", async () => {
    receiver.answer((response) => void response.end("x".repeat(10)));
    const response = await trusting().request(order(receiver.url, { bodyBytesMax: 10 }));
    expect(response).to.deep.include({ bodyTruncated: false });
  });

  it("stops when the caller aborts", async () => {
    receiver.answer(() => stop.abort());
    const stop = new AbortController();
    await expect(
      trusting().request(order(receiver.url, { signal: stop.signal })),
    ).to.be.rejected.and.eventually.have.property("name", "AbortError");
  });

  it("stops when the caller aborts in the middle of the answer", async () => {
    const stop = new AbortController();
    receiver.answer((response) => {
      response.writeHead(200).write("begun");
      setTimeout(() => stop.abort(), 50);
    });
    await expect(
      trusting().request(order(receiver.url, { signal: stop.signal })),
    ).to.be.rejected.and.eventually.have.property("name", "AbortError");
  });

  it("fails plainly on a port nobody listens on", async () => {
    const gone = order("http://127.0.0.1:1/");
    await expect(trusting().request(gone)).to.be.rejectedWith("ECONNREFUSED");
  });

  for (const [what, bytes] of [
    ["nonsense", "not http at all\r\n\r\n"],
    ["headers without end", `HTTP/1.1 200 OK\r\n${"x-a: b\r\n".repeat(10_000)}`],
    ["an unasked upgrade", "HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n"],
  ] as const) {
    it(`fails plainly on ${what}`, async () => {
      const sockets = new Set<Socket>();
      const server = createServer((socket) => {
        sockets.add(socket.on("error", () => undefined));
        socket.once("data", () => socket.write(bytes));
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const { port } = server.address() as { port: number };
      try {
        await expect(trusting().request(order(`http://127.0.0.1:${port}/`))).to.be.rejectedWith(
          Error,
        );
      } finally {
        for (const socket of sockets) socket.destroy();
        server.close();
      }
    });
  }
});
