import type { Logger } from "pino";
import type { HashPassword } from "../commands/user/register-user.ts";
import { openCounters } from "../platform/counter.ts";
import { openDirectory } from "../platform/identity/directory.ts";
import { directoryGuard } from "../platform/identity/directory-address.ts";
import { parseOutboundAllow } from "../platform/outbound/address.ts";
import { openOutboundHttp } from "../platform/outbound/http.ts";
import { isNamedException } from "../platform/outbound/url.ts";
import { withoutTrailing } from "../platform/trim.ts";
import { watchProjections } from "../projections/progress/visible.ts";
import { type Healer, healOften } from "../services/git/ref-healer.ts";
import { loginLockout } from "./access/login-lockout.ts";
import { secondFactor } from "./access/second-factor.ts";
import { settingsReader } from "./access/settings-reader.ts";
import { endFeeds } from "./api/feed/hub.ts";
import type { Deps } from "./core/deps.ts";
import { listen } from "./core/server.ts";
import { identityProviders } from "./protocol/oidc/identity-providers.ts";
import { endHeldPolls } from "./protocol/runner/queue.ts";
import { buildService } from "./service.ts";

/** Kept answers are looked through this often for those past their time. */
const sweepMs = 10 * 60_000;

type Guards = Readonly<{
  /** What requests on behalf of users may reach although it is not public. */
  outboundAllow?: readonly string[];
  /** Where directories may be; see directoryGuard. */
  ldapAllow?: readonly string[] | undefined;
}>;

/** What the role needs of the opened platform. */
export type HttpPlatform = Omit<
  Deps,
  | keyof ReturnType<typeof ways>
  | "visible"
  | "onChange"
  | "onPosition"
  | "settings"
  | "counters"
  | "lockout"
  | "secondFactor"
  | "now"
  | "publicUrl"
> &
  Readonly<{
    config: Readonly<{
      host: string;
      /** 0: any that is free. */
      port: number;
      databaseUrl: string;
      /** Where limits are counted, instead of in the database. */
      redisUrl?: string | undefined;
      /** The address that was bound, when not given. */
      publicUrl?: string | undefined;
      /** Here it only shows whether there is a mail server. */
      smtpUrl?: string | undefined;
      /** Name of the machine that answers SSH; the one of `publicUrl` when not given. */
      publicSshHost?: string | undefined;
      publicSshPort?: number | undefined;
    }> &
      Guards;
    now?: () => Date;
    /** Of new passwords, for tests; see RegisterUserDeps. */
    hash?: HashPassword | undefined;
    /** How long an answer waits for the read models; see VisibleDeps. For tests. */
    visibleWaitMaxMs?: number;
  }>;

export type RunningHttp = Readonly<{ url: string; deps: Deps; close: () => Promise<void> }>;

/** Starts to answer requests, until closed; closing lets what was begun finish. */
export async function startHttp(platform: HttpPlatform): Promise<RunningHttp> {
  const { config, log, store, db, vault, blobs, git, queues } = platform;
  const { now = () => new Date(), hash } = platform;
  const out = ways(config);
  const { visibleWaitMaxMs: waitMaxMs } = platform;
  const waiting = waitMaxMs === undefined ? {} : { waitMaxMs };
  const { databaseUrl } = config;
  const watching = await watchProjections({ databaseUrl, db, ...waiting, role: "http" });
  const { visible, onChange, onPosition } = watching;
  const settings = settingsReader(db, onChange);
  const counters = await openCounters(config);
  const lockout = loginLockout(counters, settings);
  const second = secondFactor({ db, store, vault, visible, settings, lockout, now });
  const machinery = {
    visible,
    onChange,
    onPosition,
    settings,
    counters,
    lockout,
    secondFactor: second,
  };
  const started: { deps?: Deps; sweeper?: NodeJS.Timeout; healer?: Healer } = {};

  const listening = await listen((url) => {
    const publicUrl = withoutTrailing(config.publicUrl ?? url, "/");
    const stores = { store, db, vault, blobs, git, queues };
    const sendsMail = config.smtpUrl !== undefined;
    const addresses = {
      publicUrl,
      publicSshHost: config.publicSshHost,
      publicSshPort: config.publicSshPort,
    };
    const deps = {
      config: { ...config, sendsMail },
      ...stores,
      ...machinery,
      ...out,
      now,
      hash,
      log,
      ...addresses,
    };
    const { app, idempotency, refs } = buildService(deps);
    started.deps = deps;
    started.sweeper = sweepOften(idempotency.sweep, log);
    started.healer = healOften(refs, now, log);
    return app;
  }, config);
  log.info({ url: listening.url }, "answering requests");

  return {
    url: listening.url,
    deps: started.deps as Deps,
    async close() {
      clearInterval(started.sweeper);
      // Agents repeat the request at the next process.
      endHeldPolls(onChange);
      endFeeds(onChange);
      await listening.close();
      await started.healer?.close();
      await watching.close();
      await counters.close();
    },
  };
}

/** Ways out of the house, each behind its guard. */
function ways({ outboundAllow, ldapAllow }: Guards) {
  const allow = parseOutboundAllow(outboundAllow ?? []);
  const outbound = openOutboundHttp({ allow });
  return {
    outbound,
    checkUrl: outbound.checkUrl,
    allowsPlainHttp: (url: URL) => isNamedException(url, allow),
    providers: identityProviders(outbound),
    directory: openDirectory({ guard: directoryGuard(ldapAllow) }),
  };
}

function sweepOften(sweep: () => Promise<void>, log: Logger): NodeJS.Timeout {
  return setInterval(() => {
    sweep().catch((error: unknown) => log.warn({ err: error }, "kept answers were not swept"));
  }, sweepMs);
}
