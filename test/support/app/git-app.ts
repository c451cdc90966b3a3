import { randomUUID } from "node:crypto";
import pino from "pino";
import { handle } from "../../../src/commands/core/handle.ts";
import { createProject } from "../../../src/commands/project/create-project.ts";
import { accessToken } from "../../../src/commands/token/access-token.ts";
import { registerUser } from "../../../src/commands/user/register-user.ts";
import { AccessTokenId, Alias, ProjectId, UserId } from "../../../src/events/core/ids.ts";
import type { Scope } from "../../../src/events/token/access-token.ts";
import { openGit } from "../../../src/git/repositories.ts";
import { authenticate } from "../../../src/http/access/authenticate.ts";
import { loginLockout } from "../../../src/http/access/login-lockout.ts";
import { roleAccess } from "../../../src/http/access/role-access.ts";
import { secondFactor } from "../../../src/http/access/second-factor.ts";
import { settingsReader } from "../../../src/http/access/settings-reader.ts";
import { buildApp } from "../../../src/http/core/app.ts";
import { idempotency } from "../../../src/http/core/idempotency.ts";
import { listen } from "../../../src/http/core/server.ts";
import { type GitHttpDeps, gitHttp } from "../../../src/http/protocol/git/http.ts";
import { identityProviders } from "../../../src/http/protocol/oidc/identity-providers.ts";
import { routes } from "../../../src/http/routes.ts";
import { openBlobs } from "../../../src/platform/blob/open.ts";
import { openCounters } from "../../../src/platform/counter.ts";
import { openDirectory } from "../../../src/platform/identity/directory.ts";
import { directoryGuard } from "../../../src/platform/identity/directory-address.ts";
import { hashToken, newToken } from "../../../src/platform/key/token.ts";
import { openVault } from "../../../src/platform/key/vault.ts";
import { allowNothing } from "../../../src/platform/outbound/address.ts";
import { openOutboundHttp } from "../../../src/platform/outbound/http.ts";
import { openQueues } from "../../../src/platform/queue/queue.ts";
import { watchProjections } from "../../../src/projections/progress/visible.ts";
import {
  type ProtectedProject,
  refProtections,
} from "../../../src/projections/protection/applicable.ts";
import { startProjections } from "../../../src/projections/role.ts";
import { lockingOn } from "../../../src/services/git/lock-gate.ts";
import { accessOfPusher } from "../../../src/services/git/push-rights.ts";
import { refRecorder } from "../../../src/services/git/ref-recorder.ts";
import { temporaryDirectory } from "../git/git.ts";
import { testDatabase } from "../store/database.ts";
import { openTestEventStore } from "../store/event-store.ts";
import { secretKey } from "./app.ts";
import { at, metadataFor } from "./history.ts";
import { limits } from "./limits.ts";
import { cheapHash } from "./password.ts";

export const password = "correct horse battery";

export type TestUser = Readonly<{ id: UserId; alias: string; token: string }>;
export type TestProject = Readonly<{ id: ProjectId; owner: string; alias: string; path: string }>;

const publicUrl = "http://127.0.0.1";

async function startServices(options: Partial<GitHttpDeps>) {
  const closing: (() => Promise<void>)[] = [];
  // Registered before the database's own hook, which drops it and needs it to be left alone.
  after(async () => {
    for (const close of closing.reverse()) await close();
  });
  const { url: databaseUrl, db } = await testDatabase("app");
  const { store, url: eventStoreUrl, close: closeStore } = await openTestEventStore(databaseUrl);
  const dataDir = await temporaryDirectory();
  const logged: string[] = [];
  const log = pino({ level: "debug" }, { write: (line: string) => logged.push(line) });
  const vault = openVault(db, secretKey);
  const now = (): Date => new Date();
  const git = openGit({ dataDir, log, packCacheBytesMax: 256 * 1024 ** 2 });
  const projections = await startProjections({ config: { databaseUrl }, db, store, vault, log });
  const watching = await watchProjections({ databaseUrl, db, waitMaxMs: 20_000 });
  const { visible, onChange } = watching;
  const settings = settingsReader(db, onChange);
  const counters = await openCounters({ databaseUrl });
  const lockout = loginLockout(counters, settings);
  const refs = refRecorder({ store, db, git, now, log });

  const second = secondFactor({ db, store, vault, visible, settings, lockout, now });
  const heard = { ...watching, settings, counters, lockout, secondFactor: second };
  const auth = authenticate({ db, now, log, ...heard });
  const access = roleAccess({ db, onChange });
  const { project } = access;
  const queues = await openQueues({ databaseUrl, log });
  const jobProject = async () => undefined;
  const anonymousPull = async () => true;
  const gitDeps = { authenticate: auth, project, anonymousPull, jobProject, git, refs };
  const protections = (of: ProtectedProject) => refProtections(db, of);
  const locking = lockingOn(db);
  const before = [
    gitHttp({
      ...gitDeps,
      bytesLeft: async () => Number.MAX_SAFE_INTEGER,
      db,
      onChange,
      vault,
      now,
      log,
      visible,
      protections,
      locking,
      publicUrl,
      accessNow: (pusher) => accessOfPusher(db, pusher, now()),
      ...options,
    }),
  ];
  const outbound = openOutboundHttp({ allow: allowNothing });
  const out = {
    outbound,
    checkUrl: (url: string): URL => new URL(url),
    allowsPlainHttp: () => false,
    providers: identityProviders(outbound),
    directory: openDirectory({ guard: directoryGuard([]) }),
  };
  const blobs = await openBlobs({ dataDir }, db);
  const stores = { store, db, vault, blobs, git, queues };
  const deps = { config: limits, ...stores, ...heard, ...out, now, log, publicUrl };
  const gate = { caller: auth.caller, ...access };
  const app = buildApp({ deps, gate, idempotency: idempotency(db, vault), routes, before });
  const { url, close } = await listen(() => app, { host: "127.0.0.1", port: 0 });

  closing.push(closeStore, queues.close, counters.close, git.close, projections.close);
  closing.push(watching.close, close);

  return { ...deps, databaseUrl, eventStoreUrl, dataDir, refs, url, logged };
}

/**
 * The service as far as git needs it, on a real event store, database, repositories and HTTP; all
 * of it ends with the calling test file.
 */
export async function startGitApp(options: Partial<GitHttpDeps> = {}) {
  const services = await startServices(options);
  const { store, vault, visible, url } = services;
  const commandDeps = { store, vault, now: () => at, hash: cheapHash };
  return {
    ...services,

    /** A user with a password and a token that may do everything to projects. */
    async user(alias: string): Promise<TestUser> {
      const id = UserId.parse(randomUUID());
      const email = `${alias}@example.test`;
      const flags = { admin: false, confirmed: true, emailProved: true };
      const user = { userId: id, alias: Alias.parse(alias), email, password, ...flags };
      await registerUser(commandDeps, user, metadataFor(randomUUID()));
      const token = await this.token(id, ["PROJECT_READ", "PROJECT_WRITE", "PROJECT_EDIT"]);
      return { id, alias, token };
    },

    async token(userId: UserId, scopes: readonly Scope[]): Promise<string> {
      const token = newToken("lfat");
      const tokenId = AccessTokenId.parse(randomUUID());
      const command = {
        type: "CreateAccessToken",
        tokenId,
        userId,
        kind: "ACCESS",
        name: tokenId,
        scopes,
        tokenHash: hashToken(token),
        expiresAt: null,
        at,
      } as const;
      const metadata = metadataFor(randomUUID());
      await visible((await handle(store, accessToken, { id: userId, command, metadata })).position);
      return token;
    },

    async project(owner: TestUser, alias: string, isPrivate = true): Promise<TestProject> {
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
        private: isPrivate,
        defaultBranch: "main",
        by: owner.id,
        at,
      } as const;
      const result = await createProject(commandDeps, command, metadataFor(randomUUID()));
      await visible(result.position);
      return { id, owner: owner.alias, alias, path: `/project/${owner.alias}/${alias}` };
    },

    /** What git is given; with credentials in it. */
    remote({ path: at }: TestProject, user?: Pick<TestUser, "alias" | "token">): string {
      const credentials = user === undefined ? "" : `${user.alias}:${user.token}@`;
      return `${url.replace("//", `//${credentials}`)}${at}.git`;
    },

    get(at: string, token?: string, headers: Record<string, string> = {}): Promise<Response> {
      const authorization = token === undefined ? {} : { authorization: `token ${token}` };
      return fetch(url + at, { headers: { ...authorization, ...headers } });
    },
  };
}
