import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { Agent, get } from "node:http";

import { figure } from "./figure.ts";

const connections = 16;
const secondsEach = 3;

/** Answers a second of one address, against a bare node:http server that answers as many bytes. */
export async function rate(name: string, url: string, authorization: string): Promise<void> {
  const answer = await fetch(url, { headers: { authorization } });
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
  const bare = await startBare((await answer.arrayBuffer()).byteLength);
  await perSecond(bare.url, authorization, 1);
  const baseline = await perSecond(bare.url, authorization, secondsEach);
  bare.child.kill();
  await perSecond(url, authorization, 1);
  const ours = await perSecond(url, authorization, secondsEach);
  figure(name, "requests/s", ours, { name: "bare node:http", value: baseline });
}

/** Requests answered in a second over connections that are kept open. */
async function perSecond(url: string, authorization: string, seconds: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const until = performance.now() + seconds * 1_000;
  let answered = 0;
  const one = async (): Promise<void> => {
    while (performance.now() < until) {
      await new Promise<void>((resolve, reject) => {
        get(url, { agent, headers: { authorization } }, (response) => {
          if (response.statusCode !== 200) reject(new Error(`${url}: ${response.statusCode}`));
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
      response.writeHead(200, { "content-type": "text/plain", "content-length": body.length });
      response.end(body);
    });
    server.listen(0, "127.0.0.1", () => console.log(server.address().port));`;
  const child = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "inherit"] });
  const [port] = (await once(child.stdout, "data")) as [Buffer];
  return { child, url: `http://127.0.0.1:${port.toString().trim()}/` };
}
