import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import pino from "pino";
import { type Dispatcher, request } from "undici";
import { handle } from "../../../src/commands/core/handle.ts";
import { createProject } from "../../../src/commands/project/create-project.ts";
import { accessToken } from "../../../src/commands/token/access-token.ts";
import { registerUser } from "../../../src/commands/user/register-user.ts";
import { AccessTokenId, Alias, ProjectId, UserId } from "../../../src/events/core/ids.ts";
import { Scope } from "../../../src/events/token/access-token.ts";
import { openGit } from "../../../src/git/repositories.ts";
import { commandDeps } from "../../../src/http/core/command-deps.ts";
import type { Deps } from "../../../src/http/core/deps.ts";
import { startHttp } from "../../../src/http/role.ts";
import { openBlobs } from "../../../src/platform/blob/open.ts";
import { hashToken, newToken } from "../../../src/platform/key/token.ts";
import { openVault } from "../../../src/platform/key/vault.ts";
import { openQueues } from "../../../src/platform/queue/queue.ts";
import { startProjections } from "../../../src/projections/role.ts";
import { type SshRoleOptions, startSsh } from "../../../src/ssh/role.ts";
import { startWorkers } from "../../../src/workers/role.ts";
import { testDatabase } from "../store/database.ts";
import { openTestEventStore } from "../store/event-store.ts";
import { undocumented } from "./documented.ts";
import { metadataFor } from "./history.ts";
import { limits } from "./limits.ts";
import { cheapHash } from "./password.ts";
import { releaseLater } from "./released.ts";
import { removal } from "./removal.ts";

export const secretKey = "a secret key for tests, 32 characters";

export type Answer<Body = Record<string, unknown>> = Readonly<{
  status: number;
  body: Body;
  text: string;
  headers: Headers;
}>;

export type Send = Readonly<{
  token?: string;
  /** Sent as JSON, unless it is bytes. */
  body?: unknown;
  headers?: Readonly<Record<string, string>>;
}>;

export type TestUser = Readonly<{ id: UserId; alias: string; password: string; token: string }>;
export type TestProject = Readonly<{ id: ProjectId; ownerAlias: string; alias: string }>;

export type TestAppOptions = Readonly<{
  /** Reactors and workers run as well, and may reach this machine. */
  workers?: boolean;
  /** Where workers send mail; without it mails wait in the outbox. */
  smtpUrl?: string;
  /** SSH is answered as well, on a free port. */
  ssh?: SshRoleOptions;
  config?: Partial<Deps["config"]>;
  /** Host in the SSH addresses of projects. */
  publicSshHost?: string;
  /** Allows outbound requests to this machine on behalf of users, as `workers` does. */
  reachesLoopback?: boolean;
  /** How long an answer waits for the read models: longer than usual by default, as many tests run at once. */
  visibleWaitMaxMs?: number;
  /** Passwords that are set by requests take next to no work to hash, as those of given users. */
  cheapPasswords?: boolean;
  /** By name and port as well, which also lets them do without TLS. */
  outboundAllow?: readonly string[];
}>;

export type TestApp = Awaited<ReturnType<typeof startTestApp>>;

/**
 * The whole service in this process, on real stores and a free port, closed when the file ends. Call
 * it at the top of the file or of a `describe`, with `await`.
 */
export async function startTestApp(options: TestAppOptions = {}) {
  const closing: (() => Promise<void>)[] = [];
  // Registered before the stores' own hooks, which run in this order too and end what it needs.
  after(async () => {
    for (const close of closing.reverse()) await close();
  });
  const { url: databaseUrl, db } = await testDatabase("app");
  const { store, url: eventStoreUrl, close: closeStore } = await openTestEventStore(databaseUrl);
  closing.push(closeStore);
  const dataDir = await mkdtemp(path.join(tmpdir(), "ledgerforge-app-"));
  const log = pino({ level: process.env["TEST_LOG_LEVEL"] ?? "silent" });
  const vault = openVault(db, secretKey);
  const git = openGit({ dataDir, log, packCacheBytesMax: 256 * 1024 ** 2 });
  const queues = await openQueues({ databaseUrl, log });
  const blobs = await openBlobs({ dataDir }, db);
  const near = options.workers || options.reachesLoopback ? ["127.0.0.1/32"] : [];
  const outboundAllow = [...near, ...(options.outboundAllow ?? [])];
  const ldapAllow = near.length > 0 ? near : undefined;
  const local = { host: "127.0.0.1", port: 0, databaseUrl, outboundAllow, ldapAllow };
  const { smtpUrl, publicSshHost } = options;
  const config = { ...local, smtpUrl, publicSshHost, ...limits, ...options.config };
  const { visibleWaitMaxMs = 20_000 } = options;
  const platform = { config, log, store, db, vault, blobs, git, queues, visibleWaitMaxMs };
  closing.push(() => rm(dataDir, removal), git.close, queues.close);
  closing.push((await startProjections(platform)).close);
  const hash = options.cheapPasswords ? { hash: cheapHash } : {};
  const http = await startHttp({ ...platform, ...hash });
  closing.push(http.close);
  if (options.workers === true) {
    const publicUrl = http.url;
    closing.push((await startWorkers({ ...platform, config: { ...config, publicUrl } })).close);
  }
  const sshConfig = {
    ...config,
    sshHost: "127.0.0.1",
    sshPort: 0,
    dataDir,
    databaseUrl,
    publicUrl: http.url,
  };
  const ssh = options.ssh && (await startSsh({ ...platform, config: sshConfig }, options.ssh));
  if (ssh !== undefined) closing.push(ssh.close);

  const send = sender(http.url);
  const app = {
    url: http.url,
    sshPort: ssh?.port ?? 0,
    deps: { ...http.deps, config: { ...config, ...http.deps.config } },
    platform,
    dataDir,
    /** Of the stores, for programs that run beside the service. */
    databaseUrl,
    eventStoreUrl,
    send,
    get: (at: string, options?: Send) => send("GET", at, options),
    post: (at: string, options?: Send) => send("POST", at, options),
    put: (at: string, options?: Send) => send("PUT", at, options),
    delete: (at: string, options?: Send) => send("DELETE", at, options),
    ...givers(http.deps),
    /** Position of the newest event: unchanged when nothing was appended. */
    head: () => store.head(),
  };
  releaseLater(closing, http, http.deps, platform, app.deps, app);
  return app;
}

/** Sends to the service, and holds every answer against the OpenAPI document. */
export function sender(base: string) {
  return async (method: string, at: string, options: Send = {}): Promise<Answer> => {
    const { token, body, headers = {} } = options;
    const bytes = typeof body === "string" || body instanceof Uint8Array;
    // A fifth of the processor time that `fetch` takes.
    const response = await request(base + at, {
      method: method as Dispatcher.HttpMethod,
      headers: {
        "user-agent": "node",
        ...(token === undefined ? {} : { authorization: `token ${token}` }),
        ...(body === undefined || bytes ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: bytes ? body : JSON.stringify(body) }),
    });
    const text = await response.body.text();
    const answered = headersOf(response.headers);
    const contentType = answered.get("content-type") ?? "";
    const parsed = /[/+]json/.test(contentType) && text !== "" ? JSON.parse(text) : {};
    const { statusCode: status } = response;
    const wrong = undocumented({ method, url: at, status, contentType, text });
    if (wrong !== undefined) throw new Error(wrong);
    return { status, body: parsed, text, headers: answered };
  };
}

function headersOf(given: Dispatcher.ResponseData["headers"]): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(given)) {
    for (const each of [value ?? []].flat()) headers.append(name, each);
  }
  return headers;
}

type UserOptions = Readonly<{
  admin?: boolean;
  /** True when not given: they have shown that the address is theirs. */
  emailProved?: boolean;
  /** The password's hash takes as much work as the service's own, not next to none. */
  dearHash?: boolean;
}>;

/** Arranges through commands what a test is given. */
function givers(deps: Deps) {
  const at = () => deps.now().toISOString();

  async function givenToken(userId: UserId, scopes: readonly Scope[], expiresAt?: string) {
    const token = newToken("lfat");
    const command = {
      type: "CreateAccessToken",
      tokenId: AccessTokenId.parse(randomUUID()),
      userId,
      kind: "ACCESS",
      name: randomUUID(),
      scopes,
      tokenHash: hashToken(token),
      expiresAt: expiresAt ?? null,
      at: at(),
    } as const;
    const order = { id: userId, command, metadata: metadataFor(randomUUID()) };
    await deps.visible((await handle(deps.store, accessToken, order)).position);
    return token;
  }

  /** A user with a token of every scope. */
  async function givenUser(alias: string, options: UserOptions = {}): Promise<TestUser> {
    const id = UserId.parse(randomUUID());
    const password = `password of ${alias}`;
    const newUser = {
      userId: id,
      alias: Alias.parse(alias),
      email: `${alias}@example.org`,
      password,
      admin: options.admin ?? false,
      confirmed: true,
      emailProved: options.emailProved ?? true,
    };
    const hash = options.dearHash ? {} : { hash: cheapHash };
    await registerUser({ ...commandDeps(deps), ...hash }, newUser, metadataFor(randomUUID()));
    const token = await givenToken(id, Scope.options);
    return { id, alias, password, token };
  }

  async function givenProject(
    owner: Pick<TestUser, "id" | "alias">,
    alias: string,
    options: Readonly<{ private?: boolean }> = {},
  ): Promise<TestProject> {
    const id = ProjectId.parse(randomUUID());
    const command = {
      type: "CreateProject",
      projectId: id,
      ownerId: owner.id,
      ownerType: "USER",
      alias: Alias.parse(alias),
      title: alias,
      description: null,
      language: null,
      private: options.private ?? true,
      defaultBranch: "main",
      by: owner.id,
      at: at(),
    } as const;
    const result = await createProject(commandDeps(deps), command, metadataFor(randomUUID()));
    await deps.visible(result.position);
    return { id, ownerAlias: owner.alias, alias };
  }

  return { givenToken, givenUser, givenProject };
}
