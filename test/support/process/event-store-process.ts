import { startEventStoreServer } from "../../../src/embedded/event-store/server.ts";

/** The embedded server as a process that can be killed: `<port>`, with DATABASE_URL; prints its url. */
const { DATABASE_URL: databaseUrl = "" } = process.env;
const [port = "0"] = process.argv.slice(2);
const server = await startEventStoreServer({ databaseUrl, port: Number(port) });
process.stdout.write(`${server.url}\n`);
process.on("SIGTERM", () => void server.close());
