import { request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP, type LookupFunction, type Socket } from "node:net";
import type { Readable } from "node:stream";
import { joinSmallAnswer } from "../event-loop/small-pieces.ts";
import { timeoutSignal } from "../time/timeout-signal.ts";
import { isAllowedAddress, type OutboundAllow } from "./address.ts";
import { type Resolve, systemResolve } from "./resolve.ts";
import { addressRefused, bareHost, checkOutboundUrl, isNamedException } from "./url.ts";

export type OutboundRequest = Readonly<{
  method: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
  url: string;
  headers?: Readonly<Record<string, string>>;
  body?: string | Buffer;
  /** For everything: resolving, connecting, sending, the whole answer. */
  timeoutMs: number;
  /** Of the answer's body; what is beyond is not read. */
  bodyBytesMax: number;
  signal?: AbortSignal;
}>;

export type OutboundResponse = Readonly<{
  status: number;
  /** Names in lower case; repeated headers joined as by node:http. */
  headers: Readonly<Record<string, string>>;
  body: Buffer;
  /** The answer had more than `bodyBytesMax`, or its end did not come in time. */
  bodyTruncated: boolean;
  /** The address that was connected to. */
  address: string;
  connectMs: number;
  firstByteMs: number;
  totalMs: number;
}>;

/** A GET whose answer is read as it comes. */
export type OutboundOpen = Readonly<{
  url: string;
  headers?: Readonly<Record<string, string>>;
  /** Until there is a status line. */
  firstByteMs: number;
  /** The answer is cut when nothing came for so long. */
  idleMs: number;
  signal: AbortSignal;
}>;

export type OutboundStream = Readonly<{
  status: number;
  /** As of OutboundResponse. */
  headers: Readonly<Record<string, string>>;
  /** Fails when fewer bytes come than the answer said, or none for too long. */
  body: Readable;
}>;

export type OutboundHttp = Readonly<{
  /** Refuses at once what no DNS answer can make right. @throws OutboundRefused */
  checkUrl: (url: string) => URL;
  /**
   * One request, redirects never followed: a 3xx is an answer like any other.
   *
   * @throws OutboundRefused when the guard forbids the URL or an address its host resolves to;
   *   OutboundTimeout; the error of node:net, node:tls or node:dns when there is no answer.
   */
  request: (request: OutboundRequest) => Promise<OutboundResponse>;
  /** The same, with the body still to come. A caller that does not read it destroys it. @throws as `request` */
  open: (order: OutboundOpen) => Promise<OutboundStream>;
}>;

/** No status line came within the limit. */
export class OutboundTimeout extends Error {
  override readonly name = "OutboundTimeout";
}

/**
 * The one way out for requests whose target a user chose. The name is resolved by the
 * connection itself; every address of the answer must be allowed, and one of them is connected to,
 * so a resolver that answers differently the next time gains nothing.
 */
export function openOutboundHttp(
  options: Readonly<{ allow: OutboundAllow; resolve?: Resolve }>,
): OutboundHttp {
  const { allow, resolve = systemResolve } = options;
  return {
    checkUrl: (url) => checkOutboundUrl(url, allow),
    async request(order) {
      const url = checkOutboundUrl(order.url, allow);
      const isAllowed = allowedFor(url, allow);
      return send(url, order, guardedLookup(resolve, isAllowed), isAllowed);
    },
    async open(order) {
      const url = checkOutboundUrl(order.url, allow);
      const isAllowed = allowedFor(url, allow);
      return openStream(url, order, guardedLookup(resolve, isAllowed), isAllowed);
    },
  };
}

export type IsAllowed = (address: string) => boolean;

/** Whether an address that the URL's host was resolved to may be connected to. */
export function allowedFor(url: URL, allow: OutboundAllow): IsAllowed {
  const trusted = isNamedException(url, allow);
  return (address) => trusted || isAllowedAddress(address, allow);
}

/** For a connection: the name is resolved once, and every address of the answer must be allowed. */
export function guardedLookup(
  resolve: Resolve,
  isAllowed: IsAllowed,
  refused: () => Error = addressRefused,
): LookupFunction {
  return (hostname, options, done) => {
    resolve(hostname, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error !== null) return done(error, "");
      // A public receiver has no private address among its public ones.
      if (first === undefined || !addresses.every(({ address }) => isAllowed(address))) {
        return done(refused(), "");
      }
      if (options.all === true) return done(null, [...addresses]);
      return done(null, first.address, first.family);
    });
  };
}

async function send(
  url: URL,
  order: OutboundRequest,
  lookup: LookupFunction,
  isAllowed: IsAllowed,
): Promise<OutboundResponse> {
  const startedAt = performance.now();
  const sinceStart = () => Math.round(performance.now() - startedAt);
  const timeout = timeoutSignal(order.timeoutMs);
  const signal = order.signal ? AbortSignal.any([order.signal, timeout]) : timeout;
  const seen = { connectMs: 0, address: "" };

  try {
    const response = await answerOf(url, order, { lookup, signal }, (socket) => {
      seen.connectMs = sinceStart();
      seen.address = socket.remoteAddress ?? "";
      // The lookup has checked it already; this holds even if a literal ever slipped past it.
      if (!isAllowed(seen.address)) socket.destroy(addressRefused());
    });
    const firstByteMs = sinceStart();
    const { body, truncated } = await readBody(response, order.bodyBytesMax);
    order.signal?.throwIfAborted();
    return {
      status: response.statusCode ?? 0,
      headers: plainHeaders(response),
      body,
      bodyTruncated: truncated,
      ...seen,
      firstByteMs,
      totalMs: sinceStart(),
    };
  } catch (error) {
    if (timeout.aborted) throw new OutboundTimeout(`No answer within ${order.timeoutMs} ms.`);
    throw error;
  }
}

async function openStream(
  url: URL,
  order: OutboundOpen,
  lookup: LookupFunction,
  isAllowed: IsAllowed,
): Promise<OutboundStream> {
  const { firstByteMs, idleMs } = order;
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), firstByteMs);
  const signal = AbortSignal.any([order.signal, late.signal]);
  try {
    const get = { ...order, method: "GET" } as const;
    const response = await answerOf(url, get, { lookup, signal }, (socket) => {
      if (!isAllowed(socket.remoteAddress ?? "")) socket.destroy(addressRefused());
    });
    // A reader of the body receives an error; one before that must not end the process.
    response.on("error", () => undefined);
    response.setTimeout(idleMs, () => {
      response.destroy(new OutboundTimeout(`Nothing came for ${idleMs} ms.`));
    });
    return { status: response.statusCode ?? 0, headers: plainHeaders(response), body: response };
  } catch (error) {
    if (late.signal.aborted) throw new OutboundTimeout(`No answer within ${firstByteMs} ms.`);
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

type RequestParts = Pick<OutboundRequest, "method" | "headers" | "body">;

function answerOf(
  url: URL,
  order: RequestParts,
  { lookup, signal }: Readonly<{ lookup: LookupFunction; signal: AbortSignal }>,
  onConnect: (socket: Socket) => void,
): Promise<IncomingMessage> {
  const hostname = bareHost(url);
  const secure = url.protocol === "https:";
  const body = order.body === undefined ? undefined : Buffer.from(order.body);
  const options: RequestOptions & { servername?: string } = {
    method: order.method,
    hostname,
    port: url.port === "" ? (secure ? 443 : 80) : Number(url.port),
    path: `${url.pathname}${url.search}`,
    headers: {
      ...order.headers,
      host: url.host,
      ...(body !== undefined && { "content-length": String(body.length) }),
    },
    lookup,
    signal,
    // A connection of its own: none that was checked for another request is used again.
    agent: false,
    maxHeaderSize: 16_384,
    ...(secure && isIP(hostname) === 0 && { servername: hostname }),
  };
  return new Promise((resolve, reject) => {
    const request = (secure ? httpsRequest : httpRequest)(options);
    // Stays for the life of the request: an error after the answer began must not go unheard.
    request.on("error", reject);
    joinSmallAnswer(request);
    request.once("response", resolve);
    // An answer that switches protocols was not requested.
    request.once("upgrade", (_response, socket: Socket) => {
      socket.destroy();
      reject(new Error("The receiver switched protocols."));
    });
    request.once("socket", (socket) => socket.once("connect", () => onConnect(socket)));
    request.end(body);
  });
}

/** Reads at most `bytesMax`. Once there is a status, a body that breaks off is only cut short. */
async function readBody(
  response: IncomingMessage,
  bytesMax: number,
): Promise<Readonly<{ body: Buffer; truncated: boolean }>> {
  const chunks: Buffer[] = [];
  let length = 0;
  let truncated = false;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > bytesMax) break;
    }
  } catch {
    truncated = true;
  }
  response.destroy();
  const body = Buffer.concat(chunks);
  return { body: body.subarray(0, bytesMax), truncated: truncated || length > bytesMax };
}

function plainHeaders(response: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(response.headers)) {
    headers[name] = Array.isArray(value) ? value.join(", ") : (value ?? "");
  }
  return headers;
}
