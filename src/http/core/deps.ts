import type { Knex } from "knex";
import type { Logger } from "pino";

import type { HashPassword } from "../../commands/user/register-user.ts";
import type { GitRepositories } from "../../git/repositories.ts";
import type { Blobs } from "../../platform/blob/blobs.ts";
import type { Counters } from "../../platform/counter.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import type { Directory } from "../../platform/identity/directory.ts";
import type { Vault } from "../../platform/key/vault.ts";
import type { OutboundHttp } from "../../platform/outbound/http.ts";
import type { Queues } from "../../platform/queue/queue.ts";
import type { Watching } from "../../projections/progress/visible.ts";
import type { SecondFactor } from "../access/code-check.ts";
import type { Lockout } from "../access/login-lockout.ts";
import type { ReadSettings } from "../access/settings-reader.ts";
import type { IdentityProviders } from "../protocol/oidc/identity-providers.ts";
import type { RequestContext } from "./request.ts";

/** An operation by its operationId, with what a client would send. @throws Refusal */
export type Perform = (
  order: Readonly<{
    operationId: string;
    params: Readonly<Record<string, unknown>>;
    query?: Readonly<Record<string, unknown>>;
    body?: Readonly<Record<string, unknown>>;
  }>,
  request: RequestContext,
  deps: Deps,
) => Promise<void>;

/** What handlers work with. One object a process, made by the role. */
export type Deps = Readonly<{
  config: Readonly<{
    /** Largest file that is shown as text. */
    blobBytesMax: number;
    /** Deepest recursive listing. */
    recursionDepthMax: number;
    /** Whether a mail server is configured. */
    sendsMail?: boolean;
    releaseFileBytesMax: number;
    packageFileBytesMax: number;
    lfsObjectBytesMax: number;
    /** Of a project's repository; null: no limit. */
    projectBytesMax: number | null;
    userBytesMax: number | null;
    /** So long a deleted project can be restored. */
    projectRetentionDays: number;
  }>;
  store: EventStore;
  db: Knex;
  vault: Vault;
  blobs: Blobs;
  git: GitRepositories;
  queues: Queues;
  /**
   * Resolves once every live projection has passed the position, so that later reads see
   * it. @throws Refusal `projection.lagging` (503) after 5 s
   */
  visible: (position: bigint | undefined) => Promise<void>;
  /** Refuses a URL users may not send us to. @throws OutboundRefused */
  checkUrl: (url: string) => URL;
  /** Requests that others chose the target of. */
  outbound: OutboundHttp;
  /** Did the operator name this very host and port, so that requests to it may go without TLS? */
  allowsPlainHttp: (url: URL) => boolean;
  directory: Directory;
  providers: IdentityProviders;
  /** See announceChange: for those who keep copies of what is read for every request. */
  onChange: Watching["onChange"];
  onPosition: Watching["onPosition"];
  /** The settings of the instance in force. */
  settings: ReadSettings;
  counters: Counters;
  lockout: Lockout;
  secondFactor: SecondFactor;
  /** `db` is the past: it is not to be compared with what the repositories hold now, nor written. */
  past?: true;
  /** Runs another declared operation on behalf of a request; see undo/perform.ts. */
  perform?: Perform;
  now: () => Date;
  /** Of new passwords, for tests; see RegisterUserDeps. */
  hash?: HashPassword | undefined;
  log: Logger;
  /** Address that clients know us by, without a slash at the end. */
  publicUrl: string;
  /** Name of the machine that answers SSH; the one of `publicUrl` when not given. */
  publicSshHost?: string | undefined;
  publicSshPort?: number | undefined;
}>;
