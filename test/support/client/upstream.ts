import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** Another registry, whose answers are given by path; others are 404. */
export async function startUpstream() {
  const answers = new Map<string, Handler>();
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    const answer = answers.get(decodeURIComponent(request.url ?? ""));
    if (answer === undefined) response.writeHead(404).end();
    else answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const requestsFor = (path: string) => requests.filter(({ url }) => url === path);
  return { url: `http://127.0.0.1:${port}`, answers, requests, requestsFor };
}
