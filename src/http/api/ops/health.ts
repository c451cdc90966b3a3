import type { Middleware } from "koa";

import {
  areProjectionsReady,
  type ProjectionStatus,
  projectionStatuses,
} from "../../../projections/status.ts";
import type { Deps } from "../../core/deps.ts";

/** A store that does not answer within this is as good as gone. */
const checkTimeoutMs = 2_000;
/** Requests need no token, so frequent ones must not cost queries. */
const cachedMs = 500;

export type Readiness = Readonly<{
  ready: boolean;
  stores: Readonly<Record<string, "ok" | "unreachable">>;
  projections: readonly ProjectionStatus[];
}>;

type HealthDeps = Pick<Deps, "store" | "db" | "now">;

/**
 * `/health/live`: the process answers. `/health/ready`: every store does too and every read model
 * shows what happened up to moments ago; 503 and which one otherwise. Why is in the log, not here.
 */
export function health(deps: HealthDeps): Middleware {
  let cached: Readonly<{ until: number; readiness: Promise<Readiness> }> | undefined;
  const current = (): Promise<Readiness> => {
    const now = Date.now();
    if (cached === undefined || cached.until < now) {
      cached = { until: now + cachedMs, readiness: checkReadiness(deps) };
    }
    return cached.readiness;
  };

  return async (ctx, next) => {
    const reading = ctx.method === "GET" || ctx.method === "HEAD";
    if (!reading || !ctx.path.startsWith("/health/")) return await next();
    if (ctx.path === "/health/live") {
      ctx.body = { status: "ok" };
    } else if (ctx.path === "/health/ready") {
      const { ready, stores, projections } = await current();
      ctx.status = ready ? 200 : 503;
      ctx.body = {
        status: ready ? "ok" : "not ready",
        stores,
        projections: projections.map(statusView),
      };
    } else {
      return await next();
    }
    ctx.set("Cache-Control", "no-store");
  };
}

export async function checkReadiness({ store, db, now }: HealthDeps): Promise<Readiness> {
  const [events, database, statuses] = await Promise.all([
    answers(store.ping(checkTimeoutMs)),
    answers(db.raw("select 1")),
    within(projectionStatuses(db, store, now())).catch(() => []),
  ]);
  const reachable = events && database;
  return {
    ready: reachable && areProjectionsReady(statuses),
    stores: { events: word(events), database: word(database) },
    projections: statuses,
  };
}

function statusView({ name, state, position, lagPositions, lagSeconds }: ProjectionStatus) {
  return {
    name,
    state,
    position: String(position),
    lagPositions: Number(lagPositions),
    lagSeconds,
  };
}

const word = (reachable: boolean) => (reachable ? "ok" : "unreachable");

function answers(check: PromiseLike<unknown>): Promise<boolean> {
  return within(check).then(
    () => true,
    () => false,
  );
}

async function within<T>(check: PromiseLike<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("No answer in time")), checkTimeoutMs);
  });
  try {
    return await Promise.race([check, late]);
  } finally {
    clearTimeout(timer);
  }
}
