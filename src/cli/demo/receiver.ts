import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

export type Received = Readonly<{
  headers: IncomingHttpHeaders;
  body: string;
  /** What we answered. */
  status: number;
}>;

export type Receiver = Readonly<{
  url: string;
  port: number;
  received: readonly Received[];
  close: () => void;
}>;

/** Stands in for a third-party server: accepts webhook deliveries, but answers the first one with 500. */
export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const status = received.length === 0 ? 500 : 204;
      const body = Buffer.concat(chunks).toString("utf8");
      received.push({ headers: request.headers, body, status });
      response.writeHead(status).end();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  // A listening TCP server's address is an object; it is text for pipes only.
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}/hook`, port, received, close };
}
