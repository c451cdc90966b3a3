import pino from "pino";
import { openGit } from "../../../src/git/repositories.ts";
import type { EventStore } from "../../../src/platform/event-store/event-store.ts";
import { openEventStore } from "../../../src/platform/event-store/eventstoredb.ts";
import { openVault } from "../../../src/platform/key/vault.ts";
import { parseOutboundAllow } from "../../../src/platform/outbound/address.ts";
import { openOutboundProxy } from "../../../src/platform/outbound/proxy.ts";
import { openPostgres } from "../../../src/platform/postgres.ts";
import type { WorkerDeps } from "../../../src/services/core/deps.ts";
import { mirrorSyncWorker } from "../../../src/workers/project/mirror-sync.ts";
import { limits } from "../app/limits.ts";

/**
 * A worker that syncs one mirror in a process of its own and kills itself, as a power cut would,
 * `before` or `after` the append of what came; `never` it waits to be killed.
 */
const [when, databaseUrl = "", eventStoreUrl = "", dataDir = "", projectId] = process.argv.slice(2);
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
const deps: WorkerDeps = {
  store,
  db,
  vault: openVault(db, "a secret key of the tests, long enough"),
  blobs: undefined as never,
  git: openGit({ dataDir, log }),
  queues: undefined as never,
  outbound: undefined as never,
  proxy: openOutboundProxy({ allow: parseOutboundAllow(["127.0.0.1/32"]) }),
  config: limits,
  visible: async () => undefined,
  now: () => new Date(),
  log,
  publicUrl: "https://forge.example",
};
await mirrorSyncWorker.runJob({ projectId }, deps, new AbortController().signal);
