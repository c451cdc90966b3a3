import { stopTestServer, testServer } from "./postgres-server.ts";

/**
 * Runs once, in mocha's main process. Run in parallel, the test files get their processes afterwards
 * and inherit the server's address. Run one after another, they are already loaded by now and start the
 * server when the first of them wants a database, so that a run without databases starts none.
 */
export async function mochaGlobalSetup(): Promise<void> {
  if (process.argv.includes("--parallel")) await testServer();
}

export async function mochaGlobalTeardown(): Promise<void> {
  await stopTestServer();
}
