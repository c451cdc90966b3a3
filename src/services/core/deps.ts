import type { Knex } from "knex";
import type { Logger } from "pino";
import type { GitRepositories } from "../../git/repositories.ts";
import type { Blobs } from "../../platform/blob/blobs.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import type { Vault } from "../../platform/key/vault.ts";
import type { Mailer } from "../../platform/mailer.ts";
import type { OutboundHttp } from "../../platform/outbound/http.ts";
import type { OutboundProxy } from "../../platform/outbound/proxy.ts";
import type { Queues } from "../../platform/queue/queue.ts";

/** What reactors and workers work with. One object a process, made by the role. */
export type WorkerDeps = Readonly<{
  store: EventStore;
  db: Knex;
  vault: Vault;
  blobs: Blobs;
  git: GitRepositories;
  queues: Queues;
  outbound: OutboundHttp;
  /** Undefined without a mail server: mails wait in the outbox. */
  mailer?: Mailer | undefined;
  /** For programs that make connections of their own. */
  proxy: OutboundProxy;
  config: Readonly<{
    /** Of a repository; null: no limit. */
    projectBytesMax: number | null;
    userBytesMax: number | null;
    /** So long a deleted project can be restored. */
    projectRetentionDays: number;
    /** So long deliveries of webhooks are shown after they ended. */
    webhookLogRetentionDays: number;
  }>;
  /** Resolves once every live projection has passed the position. @throws Refusal after 5 s */
  visible: (position: bigint | undefined) => Promise<void>;
  now: () => Date;
  log: Logger;
  /** Address that clients know us by, without a slash at the end. */
  publicUrl: string;
  /** Name of the machine that answers SSH; the one of `publicUrl` when not given. */
  publicSshHost?: string | undefined;
  publicSshPort?: number | undefined;
}>;
