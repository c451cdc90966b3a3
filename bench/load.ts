import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { Agent, get } from "node:http";

import { figure, median } from "./figure.ts";

const connections = 16;
const secondsEach = 1;
const rounds = 3;

/**
 * Answers a second of one address, against a bare node:http server that answers as many bytes; with
 * `held`, to a caller who has the answer already and gets 304 from both.
 */
export async function rate(
  name: string,
  url: string,
  authorization: string,
  { held = false }: Readonly<{ held?: boolean }> = {},
): Promise<void> {
  const answer = await fetch(url, { headers: { authorization } });
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
  const bare = await startBare((await answer.arrayBuffer()).byteLength);
  const tag = held ? (answer.headers.get("etag") ?? "") : undefined;
  const headers = { authorization, ...(tag !== undefined && { "if-none-match": tag }) };
  const expected = held ? 304 : 200;
  const perSecond = (address: string, seconds: number) =>
    answersPerSecond(address, { headers, expected, seconds });
  await perSecond(bare.url, 1);
  await perSecond(url, 1);
  const [baselines, ours]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    baselines.push(await perSecond(bare.url, secondsEach));
    ours.push(await perSecond(url, secondsEach));
  }
  bare.child.kill();
  figure(name, "requests/s", median(ours), { name: "bare node:http", value: median(baselines) });
}

type LoadRequest = Readonly<{
  headers: Readonly<Record<string, string>>;
  expected: number;
  seconds: number;
}>;

/** Requests answered in a second over connections that are kept open. */
async function answersPerSecond(url: string, loadRequest: LoadRequest): Promise<number> {
  const { headers, expected, seconds } = loadRequest;
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const until = performance.now() + seconds * 1_000;
  let answered = 0;
  const one = async (): Promise<void> => {
    while (performance.now() < until) {
      await new Promise<void>((resolve, reject) => {
        get(url, { agent, headers }, (response) => {
          if (response.statusCode !== expected) reject(new Error(`${url}: ${response.statusCode}`));
          response.resume().once("end", resolve);
        }).once("error", reject);
      });
      answered += 1;
    }
  };
  await Promise.all(Array.from({ length: connections }, one));
  agent.destroy();
  return answered / seconds;
}

/** A process of its own, as the service is. */
async function startBare(bytes: number): Promise<Readonly<{ url: string; child: ChildProcess }>> {
  const program = `
    const body = Buffer.alloc(${bytes}, 120);
    const server = require("node:http").createServer((request, response) => {
      if (request.headers["if-none-match"]) return response.writeHead(304).end();
      response.writeHead(200, { "content-type": "text/plain", "content-length": body.length });
      response.end(body);
    });
    server.listen(0, "127.0.0.1", () => console.log(server.address().port));`;
  const child = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "inherit"] });
  const [port] = (await once(child.stdout, "data")) as [Buffer];
  return { child, url: `http://127.0.0.1:${port.toString().trim()}/` };
}
