import type Koa from "koa";
import type { Middleware } from "koa";

import { buildApp } from "./app.ts";
import { type Authenticate, authenticate } from "./authenticate.ts";
import type { Deps } from "./deps.ts";
import { documentation } from "./documentation.ts";
import type { Gate } from "./gate.ts";
import { health } from "./health.ts";
import { type Idempotency, idempotency } from "./idempotency.ts";
import { metrics } from "./metrics.ts";
import { roleAccess } from "./role-access.ts";
import { routes } from "./routes.ts";

/** What middleware beside the declared routes proves its callers by. */
export type Proofs = Readonly<{ deps: Deps; authenticate: Authenticate; gate: Gate }>;

export type Service = Readonly<{ app: Koa; idempotency: Idempotency }>;

/** The whole HTTP service over what the platform opened. */
export function buildService(deps: Deps): Service {
  const prover = authenticate(deps.db, deps.now);
  const gate: Gate = { caller: prover.caller, ...roleAccess(deps.db) };
  const proofs = { deps, authenticate: prover, gate };
  const once = idempotency(deps.db, deps.vault);
  const measured = metrics({ deps, gate, queueNames: [] });
  const app = buildApp({
    deps,
    gate,
    idempotency: once,
    routes,
    before: [health(deps), measured.middleware, documentation(routes), ...beside(proofs)],
    observe: measured.observe,
  });
  return { app, idempotency: once };
}

/** Git smart HTTP, the queue dashboard: what is not JSON and so is no declared route. */
function beside(_proofs: Proofs): readonly Middleware[] {
  return [];
}
