import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export type Received = Readonly<{
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  at: Date;
}>;

export type Receiver = Readonly<{
  url: string;
  port: number;
  received: Received[];
  /** How the next requests are answered until the next call; 200 by default. */
  answer: (how: (response: ServerResponse, request: Received) => void) => void;
  /** Everything received is forgotten and 200 is answered again. */
  reset: () => void;
  close: () => Promise<void>;
}>;

/** A real HTTP receiver on a free loopback port, closed after the calling file. */
export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  const ok = (response: ServerResponse): void => void response.end("ok");
  let answer: (response: ServerResponse, request: Received) => void = ok;

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    } catch {
      return; // The client closed the connection before the end.
    }
    const entry: Received = {
      method: request.method ?? "",
      path: request.url ?? "",
      headers: request.headers,
      body: Buffer.concat(chunks).toString("utf8"),
      at: new Date(),
    };
    received.push(entry);
    answer(response, entry);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;

  const close = async (): Promise<void> => {
    server.closeAllConnections();
    if (!server.listening) return;
    server.close();
    await once(server, "close");
  };
  after(close);

  return {
    url: `http://127.0.0.1:${port}/hook`,
    port,
    received,
    answer: (how) => {
      answer = how;
    },
    reset: () => {
      received.length = 0;
      answer = ok;
    },
    close,
  };
}
