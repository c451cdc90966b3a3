import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** Below the ports that systems give to clients and to servers that name none: nobody takes one meanwhile. */
const [first, portsOfWorker, workers] = [20_000, 4_000, 3];
const triesMax = 100;

/** A port of 127.0.0.1 for a program that is started afterwards; test files that run beside each other share none. */
export async function freePort(): Promise<number> {
  const start = first + (Number(process.env["MOCHA_WORKER_ID"] ?? 0) % workers) * portsOfWorker;
  for (let tries = 0; tries < triesMax; tries += 1) {
    const port = start + randomInt(portsOfWorker);
    if (await isFree(port)) return port;
  }
  throw new Error("no free port");
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer().listen(port, "127.0.0.1");
  try {
    await once(probe, "listening");
  } catch {
    return false;
  }
  probe.close();
  await once(probe, "close");
  return true;
}
