import type { RequestListener } from "node:http";
import type { Middleware } from "koa";
import { holdInProject, projectBytesLeft } from "../projections/project/repository-size.ts";
import { type ProtectedProject, refProtections } from "../projections/protection/applicable.ts";
import { lockingOn } from "../services/git/lock-gate.ts";
import type { PushDeps } from "../services/git/push.ts";
import { accessOfPusher } from "../services/git/push-rights.ts";
import { type RefRecorder, refRecorder } from "../services/git/ref-recorder.ts";
import { type ApiLimit, apiLimit } from "./access/api-limit.ts";
import { type Authenticate, authenticate } from "./access/authenticate.ts";
import { dropEmptyCredentials } from "./access/credentials.ts";
import { directoryPassword } from "./access/directory-password.ts";
import type { Gate } from "./access/gate.ts";
import { jobCaller, projectReadByJob } from "./access/job-caller.ts";
import { roleAccess } from "./access/role-access.ts";
import { documentation } from "./api/openapi/documentation.ts";
import { health } from "./api/ops/health.ts";
import { metrics } from "./api/ops/metrics.ts";
import { performer } from "./api/undo/perform.ts";
import { buildApp } from "./core/app.ts";
import type { Deps } from "./core/deps.ts";
import { type Idempotency, idempotency } from "./core/idempotency.ts";
import { operationClients } from "./core/operation-client.ts";
import { peerOf } from "./core/peer.ts";
import { problemPages } from "./page/core/problem.ts";
import { servePages, sessionCaller } from "./page/core/serve.ts";
import { pages } from "./page/html-pages.ts";
import { queueDashboard } from "./page/ops/queue-dashboard.ts";
import { gitHttp } from "./protocol/git/http.ts";
import { lfsHttp } from "./protocol/lfs/http.ts";
import { containerRegistry } from "./protocol/oci/registry.ts";
import { nativeRegistry } from "./protocol/package/core/native.ts";
import { takePathToken } from "./protocol/package/core/path-token.ts";
import { routes } from "./routes.ts";

/** What middleware beside the declared routes authenticates its callers with. */
export type AuthenticationDeps = Readonly<{
  deps: Deps;
  authenticate: Authenticate;
  gate: Gate;
  refs: RefRecorder;
  limit: ApiLimit;
  idempotency: Idempotency;
}>;

export type Service = Readonly<{
  app: RequestListener;
  idempotency: Idempotency;
  refs: RefRecorder;
}>;

/** Loaded at the first use: the workers belong to another role, and are a large part of all code. */
const queueNames = async (): Promise<readonly string[]> =>
  (await import("../workers/all.ts")).allWorkers.map(({ queue }) => queue);

const reactorNames = async (): Promise<readonly string[]> =>
  (await import("../workers/all.ts")).allReactors.map(({ name }) => name);

/** The whole HTTP service over what the platform opened. */
export function buildService(deps: Deps): Service {
  const limit = apiLimit(deps.counters, deps.settings);
  const authenticator = authenticate({
    ...deps,
    limit,
    directoryPassword: directoryPassword(deps),
  });
  const gate: Gate = {
    async caller(ctx, access, forJobs = false) {
      const byJob = forJobs ? await jobCaller(deps.db, ctx, authenticator) : undefined;
      const caller = byJob ?? (await authenticator.caller(ctx, access));
      // A working agent sends a request every few seconds.
      if (access !== "agent") await limit(ctx, caller, peerOf(ctx));
      return caller;
    },
    ...roleAccess(deps),
  };
  const refs = refRecorder(deps);
  const performing = { ...deps, perform: performer(routes, gate) };
  const clients = operationClients(routes, { deps: performing, gate });
  const once = idempotency(deps.db, deps.vault);
  const shown = servePages(pages, {
    deps: { ...deps, authenticate: authenticator },
    limit,
    operationClients: clients,
    idempotency: once,
  });
  const authentication = {
    deps,
    authenticate: authenticator,
    gate,
    refs,
    limit,
    idempotency: once,
  };
  const measured = metrics({ deps, gate, queueNames, reactorNames });
  const app = buildApp({
    deps: performing,
    gate,
    idempotency: once,
    routes,
    before: [
      problemPages(deps.publicUrl),
      health(deps),
      measured.middleware,
      documentation(routes),
      shown,
      ...beside(authentication),
    ],
    arrive: (request) => {
      dropEmptyCredentials(request);
      takePathToken(request);
    },
    observe: measured.observe,
  });
  return { app, idempotency: once, refs };
}

/** Git smart HTTP, the queue dashboard: what is not JSON and so is no declared route. */
function beside({
  deps,
  authenticate,
  gate,
  refs,
  limit,
  idempotency,
}: AuthenticationDeps): readonly Middleware[] {
  const anonymousPull = async (): Promise<boolean> =>
    (await deps.settings()).pullRepoFromAnonUserIsEnabled;
  const { queues, publicUrl } = deps;
  const protections = (project: ProtectedProject) => refProtections(deps.db, project);
  const bytesLeft = projectBytesLeft(deps);
  const hold = holdInProject(deps);
  const accessNow: PushDeps["accessNow"] = (pusher) => accessOfPusher(deps.db, pusher, deps.now());
  const pushes = { refs, protections, bytesLeft, locking: lockingOn(deps.db), accessNow };
  const jobProject = (token: string) => projectReadByJob(deps.db, token);
  const authenticating = {
    ...deps,
    authenticate,
    project: gate.project,
    anonymousPull,
    jobProject,
  };
  return [
    gitHttp({ ...authenticating, ...pushes }),
    lfsHttp({ ...authenticating, bytesLeft, hold }),
    nativeRegistry({ ...deps, authenticate, gate, limit, idempotency }),
    containerRegistry({ ...deps, authenticate, gate, limit }),
    queueDashboard({ authenticate, queues, queueNames, publicUrl, session: sessionCaller(deps) }),
  ];
}
