import { once } from "node:events";
import { createServer, type IncomingMessage, request } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer, type Server } from "node:net";
import { text } from "node:stream/consumers";
import { expect } from "chai";
import { asCaller, currentCaller } from "../../../src/platform/caller.ts";
import { parseOutboundAllow } from "../../../src/platform/outbound/address.ts";
import { openOutboundProxy, type ProxyGrant } from "../../../src/platform/outbound/proxy.ts";
import type { Resolve } from "../../../src/platform/outbound/resolve.ts";
import { basicAuth } from "../../support/app/basic-auth.ts";

const seen: string[] = [];
const web = createServer((incoming, response) => {
  seen.push(`${incoming.method} ${incoming.url} ${incoming.headers.host}`);
  expect(incoming.headers).not.to.have.property("proxy-authorization");
  if (incoming.url === "/moved") return void response.writeHead(302, { location: "/" }).end();
  incoming.pipe(response.writeHead(200, { "x-kept": "yes" }));
});
/** Echoes: takes the part of a server that speaks TLS, which the proxy does not look into. */
const echo = createTcpServer((socket) => socket.pipe(socket).on("error", () => undefined));
const ports = await Promise.all([web, echo].map(listening));
const [webPort = 0, echoPort = 0] = ports;
after(() => [web, echo].forEach((server) => void server.close()));

async function listening(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

let answers: readonly string[] = [];
const callers: (string | undefined)[] = [];
const resolve: Resolve = (_hostname, done) => {
  callers.push(currentCaller());
  done(
    null,
    answers.map((address) => ({ address, family: 4 })),
  );
};
const allow = parseOutboundAllow(["127.0.0.1/32"]);
const proxy = openOutboundProxy({ allow, resolve });
const strict = openOutboundProxy({ allow: parseOutboundAllow([]), resolve });
after(() => Promise.all([proxy.close(), strict.close()]));
beforeEach(() => {
  answers = ["127.0.0.1"];
  seen.length = 0;
});

const credentials = ({ proxyUrl }: ProxyGrant): string => {
  const { username, password } = new URL(proxyUrl);
  return basicAuth(username, password);
};

/** A request in clear, as a program sends it to its proxy. */
async function send(grant: ProxyGrant, url: string, body = "", authorization = credentials(grant)) {
  const { port } = new URL(grant.proxyUrl);
  const sent = request({
    port,
    host: "127.0.0.1",
    path: url,
    method: "POST",
    headers: { "proxy-authorization": authorization, host: new URL(url).host },
    agent: false,
  }).end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return { status: response.statusCode, headers: response.headers, body: await text(response) };
}

/** The first line a tunnel is answered by, and the socket to go on with. */
async function tunnel(grant: ProxyGrant, authority: string) {
  const { port } = new URL(grant.proxyUrl);
  const socket = connect(Number(port), "127.0.0.1");
  socket.on("error", () => undefined);
  socket.write(
    `CONNECT ${authority} HTTP/1.1\r\nhost: ${authority}\r\n` +
      `proxy-authorization: ${credentials(grant)}\r\n\r\n`,
  );
  const [chunk] = (await once(socket, "data")) as [Buffer];
  return { socket, line: chunk.toString().split("\r\n")[0] };
}

describe("the proxy for programs of our own", () => {
  it("forwards a plain HTTP request to the host of its grant, and returns redirects", async () => {
    const grant = await proxy.open(`http://git.example:${webPort}/a.git`, 1_000);
    const found = await send(grant, `http://git.example:${webPort}/a?b=c`, "hello");
    expect([found.status, found.body, found.headers["x-kept"]]).to.deep.equal([
      200,
      "hello",
      "yes",
    ]);
    expect(seen).to.deep.equal([`POST /a?b=c git.example:${webPort}`]);
    expect((await send(grant, `http://git.example:${webPort}/moved`)).status).to.equal(302);
    grant.close();
  });

  it("leads an encrypted connection there", async () => {
    const grant = await proxy.open(`https://git.example:${echoPort}/a.git`, 1_000);
    const { socket, line } = await tunnel(grant, `git.example:${echoPort}`);
    expect(line).to.equal("HTTP/1.1 200 Connected");
    socket.write("hello");
    const [chunk] = (await once(socket, "data")) as [Buffer];
    expect(chunk.toString()).to.equal("hello");
    const closed = once(socket, "close");
    grant.close();
    await closed;
  });

  it("resolves names on behalf of the caller that opened the grant", async () => {
    callers.length = 0;
    const open = (url: string) => asCaller("anna", () => proxy.open(url, 1_000));
    const plain = await open(`http://git.example:${webPort}/a.git`);
    await send(plain, `http://git.example:${webPort}/a`);
    const secure = await open(`https://git.example:${echoPort}/a.git`);
    (await tunnel(secure, `git.example:${echoPort}`)).socket.destroy();
    expect(callers).to.deep.equal(["anna", "anna"]);
    plain.close();
    secure.close();
  });

  it("cuts the connection when there is no room for what comes", async () => {
    const requested: number[] = [];
    const reach = async (bytes: number) => {
      requested.push(bytes);
      if (requested.length > 1) throw new Error("no room");
    };
    const grant = await proxy.open(`http://git.example:${webPort}/a.git`, 1_000, reach);
    const url = `http://git.example:${webPort}/`;
    expect((await send(grant, url, "x".repeat(100))).status).to.equal(200);
    await send(grant, url, "x".repeat(100)).catch(() => undefined);
    expect(requested).to.have.length(2);
    expect(grant.refusal()?.message).to.equal(`There is no room for ${requested[1]} bytes.`);
    grant.close();
  });

  it("forwards nothing to other hosts", async () => {
    const grant = await proxy.open(`http://git.example:${webPort}/a.git`, 1_000);
    for (const url of [
      `http://other.example:${webPort}/`,
      `http://git.example:${echoPort}/`,
      `http://127.0.0.1:${webPort}/`,
      `https://git.example:${webPort}/`,
    ]) {
      expect((await send(grant, url)).status, url).to.equal(403);
    }
    expect((await tunnel(grant, `git.example:${webPort}`)).line).to.contain("403");
    expect(grant.refusal()?.message).to.equal("The host is not on the public internet.");
    expect(seen).to.deep.equal([]);
    const secure = await proxy.open(`https://git.example:${echoPort}/`, 1_000);
    expect((await tunnel(secure, `git.example:${webPort}`)).line).to.contain("403");
    expect((await send(secure, `http://git.example:${echoPort}/`)).status).to.equal(403);
  });

  it("opens only to its own credentials, and not when it was closed", async () => {
    const grant = await proxy.open(`http://git.example:${webPort}/`, 1_000);
    const another = await proxy.open(`http://other.example:${webPort}/`, 1_000);
    const url = `http://git.example:${webPort}/`;
    for (const wrong of ["", "Basic eDp5", credentials(grant).slice(0, -4)]) {
      expect((await send(grant, url, "", wrong)).status).to.equal(407);
    }
    expect((await send(grant, url, "", credentials(another))).status).to.equal(403);
    grant.close();
    expect((await send(grant, url)).status).to.equal(407);
  });

  for (const bad of [["10.0.0.1"], ["127.0.0.1"], ["8.8.8.8", "169.254.169.254"], []]) {
    it(`refuses a name that is resolved to ${bad.join(" and ") || "nothing"}`, async () => {
      for (const scheme of ["http", "https"]) {
        const grant = await strict.open(`${scheme}://git.example:${webPort}/`, 1_000);
        // Later than the URL was checked: what the resolver says at the connection counts.
        answers = bad;
        const authority = `git.example:${webPort}`;
        if (scheme === "http")
          expect((await send(grant, `http://${authority}/`)).status).to.equal(403);
        else expect((await tunnel(grant, authority)).line).to.contain("403");
        expect(grant.refusal()?.message).to.contain("not on the public internet");
      }
      expect(seen).to.deep.equal([]);
    });
  }

  for (const url of [
    "file:///etc/passwd",
    "ext::sh",
    "ssh://-o/x",
    "/tmp/x",
    "http://a:b@c.example",
  ]) {
    it(`opens no grant to ${url}`, async () => {
      await expect(proxy.open(url, 1)).to.be.rejectedWith(/URL|http/);
    });
  }

  it("cuts off what is larger than agreed", async () => {
    const grant = await proxy.open(`http://git.example:${webPort}/`, 10);
    const request = send(grant, `http://git.example:${webPort}/`, "x".repeat(1_000));
    await expect(request).to.be.rejectedWith(/aborted|hang up|ECONNRESET|EPIPE/);
    expect(grant.refusal()?.message).to.equal("More than 10 bytes came.");
    const secure = await proxy.open(`https://git.example:${echoPort}/`, 10);
    const { socket } = await tunnel(secure, `git.example:${echoPort}`);
    const closed = once(socket, "close");
    socket.write("x".repeat(1_000));
    await closed;
    expect(secure.refusal()?.message).to.equal("More than 10 bytes came.");
  });
});
