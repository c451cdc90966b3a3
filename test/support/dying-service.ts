import pino from "pino";

import { startHttp } from "../../src/http/role.ts";
import { openBlobs } from "../../src/platform/blob/open.ts";
import type { EventStore } from "../../src/platform/event-store.ts";
import { openEventStore } from "../../src/platform/eventstoredb.ts";
import { openGit } from "../../src/platform/git/repositories.ts";
import { openPostgres } from "../../src/platform/postgres.ts";
import { openQueues } from "../../src/platform/queue.ts";
import { openVault } from "../../src/platform/vault.ts";
import { limits } from "./limits.ts";

/**
 * The service as a process of its own that kills itself, as a power cut would, around the append of
 * what a push did. Arguments: `before` or `after` the append, and the addresses of the stores.
 */
const [when, databaseUrl = "", eventStoreUrl = "", dataDir = "", secretKey = ""] =
  process.argv.slice(2);
const log = pino({ level: "silent" });
const real = openEventStore(eventStoreUrl);
const die = (): never => {
  process.kill(process.pid, "SIGKILL");
  throw new Error("dead");
};
const store: EventStore = {
  ...real,
  async append(stream, expected, events) {
    if (!stream.startsWith("repository-")) return real.append(stream, expected, events);
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
