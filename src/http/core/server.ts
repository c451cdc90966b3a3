import { createServer, type RequestListener, type Server, STATUS_CODES } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { boundCaller } from "../../platform/event-loop/operation.ts";
import { joinSmallPieces } from "../../platform/event-loop/small-pieces.ts";
import { delayContinue } from "./expect-continue.ts";

/** Headers slower than this are an attack or a dead line. */
const headersTimeoutMs = 10_000;
/**
 * Longer than proxies keep an idle connection (60 s in most), so that they close it first: a request
 * that is sent while this end closes is reset, and one that changes something may not be repeated.
 */
const keepAliveTimeoutMs = 75_000;
const connectionsCheckMs = 1_000;
const closeIdleMs = 20;
const closeTimeoutMs = 5_000;

export type ListenOptions = Readonly<{ host: string; port: number; headersTimeoutMs?: number }>;
export type Listening = Readonly<{ url: string; server: Server; close: () => Promise<void> }>;

/**
 * Serves an app, which is made when its address is known. The time of a whole request is not bounded here,
 * because a push may rightly take long: the reader of a body bounds it.
 */
export async function listen(
  appAt: (url: string) => RequestListener,
  options: ListenOptions,
): Promise<Listening> {
  const server = createServer({
    headersTimeout: options.headersTimeoutMs ?? headersTimeoutMs,
    requestTimeout: 0,
    keepAliveTimeout: keepAliveTimeoutMs,
    connectionsCheckingInterval: connectionsCheckMs,
  });
  server.on("clientError", answerMalformed);
  delayContinue(server);
  server.on("request", (request) => joinSmallPieces(request, () => boundCaller(request) ?? ""));
  const url = await new Promise<string>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.host, () => {
      // Within the same turn, so that no request comes before there is a listener for it.
      const bound = addressOf(server);
      server.on("request", appAt(bound));
      resolve(bound);
    });
  });
  return { url, server, close: () => close(server) };
}

function addressOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo;
  return `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
}

/** What is not HTTP never reaches the app. */
function answerMalformed(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
  const status =
    error.code === "HPE_HEADER_OVERFLOW"
      ? 431
      : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? 408
        : 400;
  const title = STATUS_CODES[status] ?? "";
  const members = { type: "about:blank", title, status, detail: title, code: "http.malformed" };
  const body = JSON.stringify({ ...members, message: title });
  const headers = [
    `HTTP/1.1 ${status} ${title}`,
    "Connection: close",
    "Content-Type: application/problem+json",
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  socket.end(`${headers.join("\r\n")}\r\n\r\n${body}`);
}

/** Stops accepting, lets what is being answered finish for a while, then cuts the rest. */
async function close(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  // A connection that has its answer would be kept alive for the next request.
  const idle = setInterval(() => server.closeIdleConnections(), closeIdleMs);
  const timer = setTimeout(() => server.closeAllConnections(), closeTimeoutMs);
  await closed;
  clearInterval(idle);
  clearTimeout(timer);
}
