import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { type Duplex, Transform } from "node:stream";

import { asCaller, currentCaller } from "../caller.ts";
import { joinSmallAnswer } from "../event-loop/small-pieces.ts";
import type { OutboundAllow } from "./address.ts";
import { allowedFor, guardedLookup } from "./http.ts";
import { type Resolve, systemResolve } from "./resolve.ts";
import { bareHost, checkOutboundUrl, OutboundRefused, portOf } from "./url.ts";

export type ProxyGrant = Readonly<{
  /** What a program is given as its proxy, with the credentials of this grant alone. */
  proxyUrl: string;
  /** Why a connection was refused or cut here: what the program says of it means little. */
  refusal: () => Error | undefined;
  /** Ends what goes through it. */
  close: () => void;
}>;

export type OutboundProxy = Readonly<{
  /**
   * Lets a program out to the scheme, host and port of one URL and nowhere else.
   *
   * @param bytesMax that may come in through it
   * @param reach takes room for so many bytes in all; what it throws cuts the connection
   * @throws OutboundRefused
   */
  open: (url: string, bytesMax: number, reach?: Reach) => Promise<ProxyGrant>;
  close: () => Promise<void>;
}>;

type Reach = (bytes: number) => Promise<void>;

/** More bytes came than the grant allows. */
export class OutboundTooLarge extends Error {
  override readonly name = "OutboundTooLarge";
}

type Grant = {
  /** Who opened it: names are resolved on their behalf. */
  readonly caller: string | undefined;
  readonly url: URL;
  readonly password: string;
  readonly bytesMax: number;
  readonly reach: Reach;
  readonly connections: Set<Duplex>;
  bytes: number;
  refusal: Error | undefined;
};

type Resolved = Readonly<{ allow: OutboundAllow; resolve: Resolve }>;

const connectMsMax = 30_000;
/** Programs talk to the other end as they please, but these are between us and one side. */
const hopHeaders = new Set([
  ...["connection", "keep-alive", "proxy-authorization", "proxy-connection", "te", "trailer"],
  ...["transfer-encoding", "upgrade", "host", "expect"],
]);

/**
 * The way out for programs that make their own connections, such as git: an HTTP proxy on loopback
 * that resolves the name, checks every address of the answer and connects to one of them itself.
 * What a program makes of a name, a redirect or another spelling of an address does not count: it
 * reaches what its grant was opened for, or nothing.
 */
export function openOutboundProxy(
  options: Readonly<{ allow: OutboundAllow; resolve?: Resolve }>,
): OutboundProxy {
  const { allow, resolve = systemResolve } = options;
  const guard: Resolved = { allow, resolve };
  const grants = new Map<string, Grant>();
  const grantOf = (message: IncomingMessage): Grant | undefined => {
    const [, text = ""] = /^basic (\S+)$/i.exec(message.headers["proxy-authorization"] ?? "") ?? [];
    const [name = "", password] = Buffer.from(text, "base64").toString("utf8").split(":");
    const grant = grants.get(name);
    return grant !== undefined && grant.password === password ? grant : undefined;
  };
  const server = createServer((incoming, outgoing) => {
    const grant = grantOf(incoming);
    if (grant === undefined) return void answer(outgoing, 407);
    asCallerOf(grant, () => forward(grant, incoming, outgoing, guard));
  });
  server.on("connect", (incoming: IncomingMessage, client: Duplex, head: Buffer) => {
    client.on("error", () => client.destroy());
    const grant = grantOf(incoming);
    if (grant === undefined) return void client.end("HTTP/1.1 407 Refused\r\n\r\n");
    asCallerOf(grant, () => tunnel(grant, incoming.url ?? "", { client, head }, guard));
  });
  // A push of a large repository is one long request.
  server.requestTimeout = 0;
  server.timeout = 0;
  let listening: Promise<unknown> | undefined;

  return {
    async open(text, bytesMax, reach = async () => undefined) {
      const url = checkOutboundUrl(text, allow);
      listening ??= once(server.listen(0, "127.0.0.1"), "listening");
      await listening;
      const [name, password] = [randomBytes(8).toString("hex"), randomBytes(16).toString("hex")];
      const connections = new Set<Duplex>();
      const given = { url, password, bytesMax, reach, connections, caller: currentCaller() };
      const grant: Grant = { ...given, bytes: 0, refusal: undefined };
      grants.set(name, grant);
      const { port } = server.address() as AddressInfo;
      return {
        proxyUrl: `http://${name}:${password}@127.0.0.1:${port}`,
        refusal: () => grant.refusal,
        close() {
          grants.delete(name);
          for (const connection of grant.connections) connection.destroy();
        },
      };
    },
    async close() {
      for (const { connections } of grants.values()) for (const each of connections) each.destroy();
      if (listening === undefined) return;
      server.closeAllConnections();
      server.close();
    },
  };
}

function asCallerOf({ caller }: Grant, run: () => void): void {
  if (caller === undefined) run();
  else asCaller(caller, run);
}

/** A request in clear: taken apart and made again. */
function forward(
  grant: Grant,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  guard: Resolved,
): void {
  const refuse = (error: Error): void => {
    grant.refusal ??= error;
    if (outgoing.headersSent) outgoing.destroy();
    else answer(outgoing, 403);
  };
  const target = URL.canParse(incoming.url ?? "") ? new URL(incoming.url ?? "") : undefined;
  if (target?.protocol !== "http:" || target.origin !== grant.url.origin) {
    refuse(elsewhere());
    return;
  }
  const headers = Object.entries(incoming.headers).filter(([name]) => !hopHeaders.has(name));
  const onward = request({
    method: incoming.method,
    hostname: bareHost(grant.url),
    port: portOf(grant.url),
    path: `${target.pathname}${target.search}`,
    headers: { ...Object.fromEntries(headers), host: grant.url.host },
    lookup: guardedLookup(guard.resolve, allowedFor(grant.url, guard.allow)),
    agent: false,
  });
  onward.once("socket", (socket) => watch(grant, socket, guard, refuse));
  onward.once("error", refuse);
  joinSmallAnswer(onward);
  onward.once("response", (response) => {
    const kept = Object.entries(response.headers).filter(([name]) => !hopHeaders.has(name));
    outgoing.writeHead(response.statusCode ?? 502, Object.fromEntries(kept));
    response.pipe(counted(grant, refuse)).pipe(outgoing);
    response.once("aborted", () => outgoing.destroy());
  });
  outgoing.once("close", () => onward.destroy());
  incoming.pipe(onward);
}

type Client = Readonly<{ client: Duplex; head: Buffer }>;

/** An encrypted connection: bytes both ways, unseen. */
function tunnel(grant: Grant, authority: string, { client, head }: Client, guard: Resolved): void {
  const refuse = (error: Error): void => {
    grant.refusal ??= error;
    client.end("HTTP/1.1 403 Refused\r\n\r\n");
  };
  const url = URL.canParse(`https://${authority}`) ? new URL(`https://${authority}`) : undefined;
  if (grant.url.protocol !== "https:" || url?.origin !== grant.url.origin) {
    refuse(elsewhere());
    return;
  }
  const lookup = guardedLookup(guard.resolve, allowedFor(grant.url, guard.allow));
  const onward = connect({ host: bareHost(grant.url), port: portOf(grant.url), lookup });
  watch(grant, onward, guard, refuse);
  onward.once("error", refuse);
  onward.once("connect", () => {
    if (onward.destroyed) return;
    client.write("HTTP/1.1 200 Connected\r\n\r\n");
    if (head.length > 0) onward.write(head);
    const count = counted(grant, (error) => {
      grant.refusal ??= error;
      onward.destroy();
    });
    onward.pipe(count).pipe(client);
    client.pipe(onward);
  });
  client.once("close", () => onward.destroy());
  onward.once("close", () => client.destroy());
}

/** The connection made is held against the guard once more, and ends with its grant. */
function watch(
  grant: Grant,
  socket: Socket,
  guard: Resolved,
  refuse: (error: Error) => void,
): void {
  const isAllowed = allowedFor(grant.url, guard.allow);
  const late = setTimeout(() => socket.destroy(new Error("No connection in time.")), connectMsMax);
  grant.connections.add(socket);
  socket.once("close", () => {
    clearTimeout(late);
    grant.connections.delete(socket);
  });
  socket.once("connect", () => {
    clearTimeout(late);
    if (isAllowed(socket.remoteAddress ?? "")) return;
    refuse(elsewhere());
    socket.destroy();
  });
}

function counted(grant: Grant, refuse: (error: Error) => void): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      grant.bytes += chunk.length;
      const { bytes, bytesMax } = grant;
      const cut = (why: string): void => {
        refuse(new OutboundTooLarge(why));
        done();
      };
      if (bytes > bytesMax) return cut(`More than ${bytesMax} bytes came.`);
      const noRoom = (): void => cut(`There is no room for ${bytes} bytes.`);
      grant.reach(bytes).then(() => done(null, chunk), noRoom);
    },
  });
}

function answer(outgoing: ServerResponse, status: number): void {
  const headers = status === 407 ? { "proxy-authenticate": "Basic" } : {};
  outgoing.writeHead(status, { ...headers, connection: "close" }).end();
}

function elsewhere(): OutboundRefused {
  return new OutboundRefused("url.address", "The host is not on the public internet.");
}
