import pino from "pino";
import { openGit } from "../../../src/git/repositories.ts";
import { startHttp } from "../../../src/http/role.ts";
import { openBlobs } from "../../../src/platform/blob/open.ts";
import type { EventStore } from "../../../src/platform/event-store/event-store.ts";
import { openEventStore } from "../../../src/platform/event-store/eventstoredb.ts";
import { openVault } from "../../../src/platform/key/vault.ts";
import { openPostgres } from "../../../src/platform/postgres.ts";
import { openQueues } from "../../../src/platform/queue/queue.ts";
import { limits } from "../app/limits.ts";

/**
 * The service as a process of its own that kills itself, as a power cut would, around the append of
 * what a push did. Arguments: `before` or `after` the append, the addresses of the stores, and the type of
 * event that is meant when it is another one.
 */
const [when, databaseUrl = "", eventStoreUrl = "", dataDir = "", secretKey = "", type = ""] =
  process.argv.slice(2);
const log = pino({ level: "silent" });
const real = openEventStore(eventStoreUrl);
const die = (): never => {
  process.kill(process.pid, "SIGKILL");
  throw new Error("dead");
};
const isPush = (stream: string): boolean => stream.startsWith("repository-");
const store: EventStore = {
  ...real,
  async append(stream, expected, events) {
    const isMeant = type === "" ? isPush(stream) : events.some((event) => event.type === type);
    if (!isMeant) return real.append(stream, expected, events);
    if (when === "before") die();
    await real.append(stream, expected, events);
    return die();
  },
};
const db = openPostgres(databaseUrl);
const { url } = await startHttp({
  config: {
    host: "127.0.0.1",
    port: 0,
    databaseUrl,
    ...limits,
  },
  log,
  store,
  db,
  vault: openVault(db, secretKey),
  blobs: await openBlobs({ dataDir }, db),
  git: openGit({ dataDir, log }),
  queues: await openQueues({ databaseUrl, log }),
});
process.stdout.write(`${url}\n`);
