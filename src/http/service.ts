import type { RequestListener } from "node:http";
import type { Middleware } from "koa";

import { lockingOn } from "../git/lock-gate.ts";
import { type ProtectedProject, refProtections } from "../projections/protection-for.ts";
import { projectBytesLeft } from "../projections/repository-size.ts";

import { type RefRecorder, refRecorder } from "../workers/ref-recorder.ts";
import { apiLimit } from "./api-limit.ts";
import { buildApp } from "./app.ts";
import { type Authenticate, authenticate } from "./authenticate.ts";
import type { Deps } from "./deps.ts";
import { directoryPassword } from "./directory-password.ts";
import { documentation } from "./documentation.ts";
import type { Gate } from "./gate.ts";
import { gitHttp } from "./git-http.ts";
import { health } from "./health.ts";
import { type Idempotency, idempotency } from "./idempotency.ts";
import { lfsHttp } from "./lfs-http.ts";
import { metrics } from "./metrics.ts";
import { servePages } from "./page-serve.ts";
import { pages } from "./pages.ts";
import { peerOf } from "./peer.ts";
import { queueDashboard } from "./queue-dashboard.ts";
import { roleAccess } from "./role-access.ts";
import { routes } from "./routes.ts";

/** What middleware beside the declared routes proves its callers by. */
export type Proofs = Readonly<{
  deps: Deps;
  authenticate: Authenticate;
  gate: Gate;
  refs: RefRecorder;
}>;

export type Service = Readonly<{
  app: RequestListener;
  idempotency: Idempotency;
  refs: RefRecorder;
}>;

/** Asked for when somebody looks: the workers are another role's, and a fair part of what there is to load. */
const queueNames = async (): Promise<readonly string[]> =>
  (await import("../workers/all.ts")).allWorkers.map(({ queue }) => queue);

const reactorNames = async (): Promise<readonly string[]> =>
  (await import("../workers/all.ts")).allReactors.map(({ name }) => name);

/** The whole HTTP service over what the platform opened. */
export function buildService(deps: Deps): Service {
  const prover = authenticate({ ...deps, directoryPassword: directoryPassword(deps) });
  const limit = apiLimit(deps.counters, deps.settings);
  const gate: Gate = {
    async caller(ctx, access) {
      const caller = await prover.caller(ctx, access);
      await limit(ctx, caller, peerOf(ctx));
      return caller;
    },
    ...roleAccess(deps),
  };
  const refs = refRecorder(deps);
  const shown = servePages(pages, { deps: { ...deps, authenticate: prover }, limit });
  const proofs = { deps, authenticate: prover, gate, refs };
  const once = idempotency(deps.db, deps.vault);
  const measured = metrics({ deps, gate, queueNames, reactorNames });
  const app = buildApp({
    deps,
    gate,
    idempotency: once,
    routes,
    before: [health(deps), measured.middleware, documentation(routes), shown, ...beside(proofs)],
    observe: measured.observe,
  });
  return { app, idempotency: once, refs };
}

/** Git smart HTTP, the queue dashboard: what is not JSON and so is no declared route. */
function beside({ deps, authenticate, gate, refs }: Proofs): readonly Middleware[] {
  const anonymousPull = async (): Promise<boolean> =>
    (await deps.settings()).pullRepoFromAnonUserIsEnabled;
  const { queues, publicUrl } = deps;
  const protections = (project: ProtectedProject) => refProtections(deps.db, project);
  const bytesLeft = projectBytesLeft(deps);
  const pushes = { refs, protections, bytesLeft, locking: lockingOn(deps.db) };
  const proving = { ...deps, authenticate, project: gate.project, anonymousPull };
  return [
    gitHttp({ ...proving, ...pushes }),
    lfsHttp({ ...proving, bytesLeft }),
    queueDashboard({ authenticate, queues, queueNames, publicUrl }),
  ];
}
