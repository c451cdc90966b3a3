import { Agent, createServer, get } from "node:http";
import type { AddressInfo } from "node:net";

import { figure } from "./figure.ts";
import { withService } from "./service.ts";

/**
 * Requests a second that authenticate with a token, against node:http answering as many bytes
 * without checking anything. The operation is one the token's scopes do not open, so that what is
 * measured is the check alone: routing, token, scope and the refusal.
 */
const measureMs = 3_000;
const connections = 16;

const bare = createServer((_request, response) => {
  response.writeHead(403, { "content-type": "application/problem+json" }).end("x".repeat(400));
});
await new Promise<void>((resolve) => bare.listen(0, "127.0.0.1", resolve));
const bareUrl = `http://127.0.0.1:${(bare.address() as AddressInfo).port}/`;
try {
  await withService(async ({ service, authorization }) => {
    const url = `${service.url}/team/my`;
    await perSecond(url, authorization, 500);
    const ours = await perSecond(url, authorization, measureMs);
    const value = await perSecond(bareUrl, authorization, measureMs);
    figure("token check", "requests/s", ours, { name: "bare node:http", value });
  });
} finally {
  bare.close();
}

async function perSecond(url: string, authorization: string, forMs: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const until = performance.now() + forMs;
  let answered = 0;
  const send = (): Promise<void> =>
    new Promise((resolve, reject) => {
      get(url, { agent, headers: { authorization } }, (response) => {
        if (response.statusCode !== 403) reject(new Error(`answered ${response.statusCode}`));
        response.resume().once("end", resolve);
      }).once("error", reject);
    });
  const worker = async (): Promise<void> => {
    while (performance.now() < until) {
      await send();
      answered += 1;
    }
  };
  await Promise.all(Array.from({ length: connections }, worker));
  agent.destroy();
  return answered / (forMs / 1_000);
}
