import type { Knex } from "knex";
import pino from "pino";

import type { UserId } from "../../../src/events/core/ids.ts";
import { settingsDefaults } from "../../../src/events/instance/settings.ts";
import type { GitRepositories } from "../../../src/git/repositories.ts";
import type { SecondFactor } from "../../../src/http/access/code-check.ts";
import type { Caller, Gate } from "../../../src/http/access/gate.ts";
import type { Lockout } from "../../../src/http/access/login-lockout.ts";
import { type AppOptions, buildApp } from "../../../src/http/core/app.ts";
import type { Route } from "../../../src/http/core/route.ts";
import { listen } from "../../../src/http/core/server.ts";
import type { IdentityProviders } from "../../../src/http/protocol/oidc/identity-providers.ts";
import type { Blobs } from "../../../src/platform/blob/blobs.ts";
import type { Counters } from "../../../src/platform/counter.ts";
import type { EventStore } from "../../../src/platform/event-store/event-store.ts";
import type { Directory } from "../../../src/platform/identity/directory.ts";
import type { Vault } from "../../../src/platform/key/vault.ts";
import type { OutboundHttp } from "../../../src/platform/outbound/http.ts";
import type { Queues } from "../../../src/platform/queue/queue.ts";
import { limits } from "./limits.ts";

export const caller: Caller = {
  actor: {
    userId: "7d4f4c0e-7f55-4c6c-9a35-0d4bb5f2ab01",
    alias: "anna",
    via: "token",
    tokenId: null,
  },
  userId: "7d4f4c0e-7f55-4c6c-9a35-0d4bb5f2ab01" as UserId,
  isAdmin: false,
  scopes: new Set(["USER_READ", "PROJECT_WRITE"]),
};

/** Everybody is anna: the gate has tests of its own. */
const openGate: Gate = {
  caller: async () => caller,
  project: () => nothingNamed(),
  team: () => nothingNamed(),
  company: () => nothingNamed(),
};

async function nothingNamed(): Promise<never> {
  throw new Error("no test of the machinery names a project, team or company");
}

/** What an app of these routes takes. `log` collects what would be logged. */
export function machinery(routes: readonly Route[], log: string[] = []): AppOptions {
  const deps = {
    config: limits,
    store: unused<EventStore>("the event store"),
    db: unused<Knex>("the database"),
    vault: unused<Vault>("the vault"),
    blobs: unused<Blobs>("the blobs"),
    git: unused<GitRepositories>("git"),
    queues: unused<Queues>("the queues"),
    visible: async () => undefined,
    checkUrl: (url: string) => new URL(url),
    allowsPlainHttp: () => false,
    outbound: unused<OutboundHttp>("outbound requests"),
    directory: unused<Directory>("a directory"),
    providers: unused<IdentityProviders>("an identity provider"),
    onChange: () => undefined,
    onPosition: () => undefined,
    settings: async () => settingsDefaults,
    counters: unused<Counters>("the counters"),
    lockout: unused<Lockout>("the lockout"),
    secondFactor: unused<SecondFactor>("the second factor"),
    now: () => new Date(),
    log: pino({ level: "debug" }, { write: (line: string) => log.push(line) }),
    publicUrl: "http://127.0.0.1",
  };
  return { deps, gate: openGate, idempotency: unused("idempotency"), routes };
}

/** Serves routes made for a test over real HTTP, until the test file ends. */
export async function serveRoutes(
  routes: readonly Route[],
  options: Partial<AppOptions> & Readonly<{ headersTimeoutMs?: number }> = {},
): Promise<Readonly<{ url: string; log: string[] }>> {
  const log: string[] = [];
  const app = buildApp({ ...machinery(routes, log), ...options });
  const listening = await listen(() => app, { ...options, host: "127.0.0.1", port: 0 });
  after(() => listening.close());
  return { url: listening.url, log };
}

/** Fails on first use: the routes of these tests need none of it. */
function unused<T extends object>(name: string): T {
  const fail = () => {
    throw new Error(`a test of the machinery used ${name}`);
  };
  return new Proxy({}, { get: fail }) as T;
}
