import { execFile, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { removal } from "../app/removal.ts";
import { freePort } from "../process/free-port.ts";
import { isInstalled, needsProgram } from "../process/program.ts";

/** Skips the enclosing `describe` when there is no Redis: no package of npm carries one. */
export function needsRedis(): void {
  if (process.env["REDIS_URL"] === undefined) needsProgram("redis-server", "redis-cli");
}

/**
 * A Redis for the calling file: the one REDIS_URL names, else a server of its own when the program is
 * installed; undefined when there is neither.
 */
export async function testRedis(): Promise<string | undefined> {
  if (process.env["REDIS_URL"] !== undefined) return process.env["REDIS_URL"];
  if (!isInstalled("redis-server")) return undefined;

  const dir = await mkdtemp(path.join(tmpdir(), "ledgerforge-redis-"));
  const port = await freePort();
  const options = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--dir", dir];
  const server = spawn("redis-server", options, { stdio: "ignore" });
  const exited = new Promise((resolve) => server.once("exit", resolve));
  after(async () => {
    server.kill("SIGTERM");
    await exited;
    await rm(dir, removal);
  });
  await until(() => promisify(execFile)("redis-cli", ["-p", String(port), "ping"]));
  return `redis://127.0.0.1:${port}`;
}

async function until(attempt: () => Promise<unknown>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await attempt();
      return;
    } catch (error) {
      if (tries === 1_500) throw error;
      await delay(20);
    }
  }
}
