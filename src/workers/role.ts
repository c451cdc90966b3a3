import type { Knex } from "knex";
import type { Logger } from "pino";
import type { GitRepositories } from "../git/repositories.ts";
import type { Blobs } from "../platform/blob/blobs.ts";
import type { EventStore } from "../platform/event-store/event-store.ts";
import type { Vault } from "../platform/key/vault.ts";
import { type Mailer, openMailer } from "../platform/mailer.ts";
import { parseOutboundAllow } from "../platform/outbound/address.ts";
import { openOutboundHttp } from "../platform/outbound/http.ts";
import { openOutboundProxy } from "../platform/outbound/proxy.ts";
import { whileLeader } from "../platform/postgres/leader.ts";
import type { Queues } from "../platform/queue/queue.ts";
import { watchProjections } from "../projections/progress/visible.ts";
import type { WorkerDeps } from "../services/core/deps.ts";
import { allReactors, allSweeps, allWorkers } from "./all.ts";
import type { Reactor } from "./core/reactor.ts";
import { runReactors } from "./core/run-reactors.ts";
import { runSweeps } from "./core/sweep.ts";
import { startWorker, type Worker } from "./core/worker.ts";
import { ownerOfJobs } from "./job-owner.ts";

/** What the role needs of the opened platform. */
export type WorkersPlatform = Readonly<{
  config: WorkerDeps["config"] &
    Readonly<{
      databaseUrl: string;
      publicUrl: string;
      publicSshHost?: string | undefined;
      publicSshPort?: number | undefined;
      outboundAllow: readonly string[];
      smtpUrl?: string | undefined;
      mailFrom?: string | undefined;
    }>;
  store: EventStore;
  db: Knex;
  vault: Vault;
  blobs: Blobs;
  git: GitRepositories;
  queues: Queues;
  log: Logger;
}>;

export type WorkersOptions = Readonly<{
  reactors?: readonly Reactor[];
  workers?: readonly Worker[];
  now?: () => Date;
}>;

/**
 * Starts every worker, and every reactor as leader or standby, until closed. Any number of
 * processes may run the role: jobs are shared among them, one at a time runs the reactors.
 */
export async function startWorkers(
  platform: WorkersPlatform,
  options: WorkersOptions = {},
): Promise<Readonly<{ close: () => Promise<void> }>> {
  const { reactors = allReactors, workers = allWorkers, now = () => new Date() } = options;
  const { config, store, db, vault, blobs, git, queues, log } = platform;
  const { databaseUrl, publicUrl, publicSshHost, publicSshPort } = config;
  const allow = parseOutboundAllow(config.outboundAllow);
  const outbound = openOutboundHttp({ allow });
  const proxy = openOutboundProxy({ allow });
  const watching = await watchProjections({ databaseUrl, db });
  const { visible } = watching;
  const urls = { publicUrl, publicSshHost, publicSshPort };
  const common = { store, db, vault, blobs, git, queues, log, ...urls, config };
  const mailer = mailerOf(config);
  const deps: WorkerDeps = { ...common, outbound, proxy, mailer, visible, now };

  const running = await Promise.all(
    workers.map((worker) => startWorker(worker, deps, ownerOfJobs(worker.queue))),
  );
  const closing = new AbortController();
  const leading = whileLeader(
    databaseUrl,
    "reactors",
    closing.signal,
    async (held) => {
      await Promise.all([runReactors(reactors, deps, held), runSweeps(allSweeps, deps, held)]);
    },
    (error) => log.error({ err: error }, "reactors stopped, starting again"),
  );
  return {
    async close() {
      closing.abort();
      await leading;
      await Promise.all(running.map((worker) => worker.close()));
      await watching.close();
      mailer?.close();
      await proxy.close();
    },
  };
}

function mailerOf({ smtpUrl, mailFrom, publicUrl }: WorkersPlatform["config"]): Mailer | undefined {
  if (smtpUrl === undefined) return undefined;
  const host = new URL(publicUrl).hostname;
  return openMailer({ smtpUrl, from: mailFrom ?? `no-reply@${host}`, host });
}
