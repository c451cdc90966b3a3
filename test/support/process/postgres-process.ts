import { startPostgres } from "../../../src/embedded/postgres/server.ts";

// Run as a program of its own, so that a test can kill it: starts the server of the directory named by
// the argument, reports it to its parent and stays until it is killed or the server ends.
const [dataDir = ""] = process.argv.slice(2);
const server = await startPostgres({ dataDir });
process.send?.({ url: server.url, pid: server.pid });
await server.exited;
process.exit();
