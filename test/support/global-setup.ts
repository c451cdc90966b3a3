import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { documentVariable } from "./package/kept-document.ts";
import { skippedLines, skippedVariable } from "./process/program.ts";
import { stopTestServer, testServer } from "./store/postgres-server.ts";

/**
 * Runs once, in mocha's main process. The test files get their processes afterwards and inherit the server's address.
 * With `--no-parallel`, for tests without a database, no server is started.
 */
export async function mochaGlobalSetup(): Promise<void> {
  const directory = await mkdtemp(path.join(tmpdir(), "ledgerforge-run-"));
  process.env[skippedVariable] = path.join(directory, "skipped");
  process.env[documentVariable] = path.join(directory, "openapi.json");
  if (!process.argv.includes("--no-parallel")) await testServer();
}

/** Prints what was skipped after mocha's own report, so that it stands in the last lines. */
export async function mochaGlobalTeardown(): Promise<void> {
  await stopTestServer();
  const collected = process.env[skippedVariable];
  if (collected === undefined) return;
  const lines = skippedLines(await readFile(collected, "utf8").catch(() => ""));
  await rm(path.dirname(collected), { recursive: true, force: true });
  if (lines.length > 0) process.stdout.write(`${lines.join("\n")}\n`);
}
