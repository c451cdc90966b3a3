import { startEventStoreServer } from "../../src/embedded/event-store/server.ts";

/** The embedded server as a process that can be killed: `<database url> <port>`; prints its url. */
const [databaseUrl = "", port = "0"] = process.argv.slice(2);
const server = await startEventStoreServer({ databaseUrl, port: Number(port) });
process.stdout.write(`${server.url}\n`);
process.on("SIGTERM", () => void server.close());
