import { setTimeout as delay } from "node:timers/promises";
import type { Middleware } from "koa";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

import { recentKills } from "../../../platform/event-loop/suspension.ts";
import { limitFigures } from "../../../platform/limit.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { foreignEvents } from "../../../projections/audit/foreign-event.ts";
import { lags, projectionStatuses } from "../../../projections/status.ts";
import { readReactorPositions } from "../../../services/core/reactor-checkpoint.ts";
import { stalledQueues } from "../../../services/webhook/outbox.ts";
import { countSetAside } from "../../../workers/core/set-aside.ts";
import { type Gate, requireScope } from "../../access/gate.ts";
import type { Answered } from "../../core/access-log.ts";
import type { Deps } from "../../core/deps.ts";

const durationBucketsSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60];
const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
/**
 * The process is watched from the first scrape on: the delay of the event loop is sampled a hundred times a second, which
 * is most of what a service at rest does. The first answer waits until there is a sample.
 */
const firstSampleMs = 25;
/** Those in which jobs can pile up unseen. */
const queueStates = ["waiting", "active", "delayed", "failed"] as const;

export type Metrics = Readonly<{
  observe: (answered: Answered) => void;
  /** `/metrics` in Prometheus' text format, for administrators' tokens. */
  middleware: Middleware;
}>;

export type MetricsOptions = Readonly<{
  deps: Pick<Deps, "db" | "store" | "now" | "queues" | "log">;
  gate: Pick<Gate, "caller">;
  /** Names of the queues whose depth is shown. */
  queueNames: () => Promise<readonly string[]>;
  /** Names of what turns events into jobs. */
  reactorNames: () => Promise<readonly string[]>;
}>;

export function metrics({ deps, gate, queueNames, reactorNames }: MetricsOptions): Metrics {
  const registry = new Registry();
  const registers = [registry];
  let watched: Promise<void> | undefined;
  const requests = new Counter({
    name: "http_requests_total",
    help: "Answered requests.",
    labelNames: ["method", "operation", "status"] as const,
    registers,
  });
  const durations = new Histogram({
    name: "http_request_duration_seconds",
    help: "From the headers of the request to the end of the answer.",
    labelNames: ["operation"] as const,
    buckets: durationBucketsSeconds,
    registers,
  });
  const refusals = new Counter({
    name: "http_refusals_total",
    help: "Refused requests by code.",
    labelNames: ["code"] as const,
    registers,
  });
  const measureProjections = gaugeProjections(registry, deps);
  const measureForeign = gaugeForeign(registry, deps);
  const measureReactors = gaugeReactors(registry, deps, reactorNames);
  const measureLines = gaugeLines(registry, deps);
  const measureQueues = gaugeQueues(registry, deps, queueNames);
  const measureKills = gaugeKills(registry);
  showLimits(registry);

  return {
    observe({ method, operationId, status, code, durationMs }) {
      // Labels come from fixed sets: a caller cannot make the registry grow.
      const operation = operationId ?? "none";
      const known = methods.has(method) ? method : "other";
      requests.inc({ method: known, operation, status });
      durations.observe({ operation }, durationMs / 1000);
      if (code !== undefined) refusals.inc({ code });
    },
    async middleware(ctx, next) {
      if (ctx.path !== "/metrics" || ctx.method !== "GET") return await next();
      const caller = await gate.caller(ctx, "admin");
      // The scraper's configuration holds the token: it should open nothing that changes anything.
      requireScope(caller, "USER_READ");
      if (!caller.isAdmin) {
        throw new Refusal("forbidden", "auth.admin_required", "Only administrators may do this.");
      }
      watched ??= watchProcess(registry);
      measureKills();
      const measures = [
        ...[measureProjections, measureReactors, measureLines, measureQueues],
        measureForeign,
      ];
      await Promise.all([watched, ...measures.map((measure) => measure())]);
      ctx.body = await registry.metrics();
      ctx.set("Content-Type", registry.contentType);
      ctx.set("Cache-Control", "no-store");
    },
  };
}

async function watchProcess(register: Registry): Promise<void> {
  collectDefaultMetrics({ register });
  await delay(firstSampleMs);
}

/** What callers hold in this process; see Limit. */
function showLimits(registry: Registry): void {
  const shown = { labelNames: ["limit"] as const, registers: [registry] };
  const gauge = (name: string, help: string, figure: "total" | "inUse" | "waiting") =>
    new Gauge({
      ...{ name, help, ...shown },
      collect() {
        for (const each of limitFigures()) this.set({ limit: each.name }, each[figure]);
      },
    });
  gauge(
    "limit_total",
    "What all callers hold together at most: tasks, connections or bytes.",
    "total",
  );
  gauge("limit_in_use", "What callers hold now.", "inUse");
  gauge("limit_waiting", "Callers that wait for room.", "waiting");
  new Counter({
    ...{
      name: "limit_refused_total",
      help: "Callers that found no room and were refused.",
      ...shown,
    },
    collect() {
      this.reset();
      for (const { name, refused } of limitFigures()) this.inc({ limit: name }, refused);
    },
  });
}

/** Zero as long as the read model is not built. */
function gaugeForeign(
  registry: Registry,
  { db, log }: MetricsOptions["deps"],
): () => Promise<void> {
  const gauge = new Gauge({
    name: "log_foreign_events",
    help: "Events of other applications in the event store, which are left out.",
    registers: [registry],
  });
  return async () => {
    const found = await foreignEvents(db).catch((error: unknown) => {
      log.warn({ err: error }, "events of other applications cannot be counted");
      return undefined;
    });
    gauge.set(Number(found?.events ?? 0n));
  };
}

function gaugeProjections(registry: Registry, deps: MetricsOptions["deps"]): () => Promise<void> {
  const { db, store, now, log } = deps;
  const gauge = (name: string, help: string) =>
    new Gauge({ name, help, labelNames: ["projection"] as const, registers: [registry] });
  const live = gauge("projection_live", "1 when it is fed, 0 when it catches up or has stopped.");
  const positions = gauge("projection_lag_positions", "Distance to the newest event.");
  const seconds = gauge("projection_lag_seconds", "Age of the oldest event that does not show.");

  return async () => {
    // The rest is worth showing when a store is gone, then above all.
    const statuses = await projectionStatuses(db, store, now()).catch((error: unknown) => {
      log.warn({ err: error }, "projections cannot be measured");
      return [];
    });
    for (const each of [live, positions, seconds]) each.reset();
    for (const { name: projection, state, lagPositions, lagSeconds } of statuses) {
      live.set({ projection }, state === "live" ? 1 : 0);
      positions.set({ projection }, Number(lagPositions));
      seconds.set({ projection }, lagSeconds);
    }
  };
}

function gaugeReactors(
  registry: Registry,
  { db, store, now, log }: MetricsOptions["deps"],
  names: () => Promise<readonly string[]>,
): () => Promise<void> {
  const gauge = (name: string, help: string) =>
    new Gauge({ name, help, labelNames: ["reactor"] as const, registers: [registry] });
  const positions = gauge("reactor_lag_positions", "Distance to the newest event.");
  const seconds = gauge("reactor_lag_seconds", "Age of the oldest event not yet reacted to.");
  const aside = gauge(
    "reactor_set_aside",
    "Events that cannot be reacted to and wait for a retry.",
  );

  return async () => {
    for (const each of [positions, seconds, aside]) each.reset();
    try {
      const counts = await countSetAside(db);
      const reached = await readReactorPositions(db, await names());
      const behind = await lags(store, [...reached.values()], now());
      for (const [reactor, position] of reached) {
        const { lagPositions, lagSeconds } = behind(position);
        positions.set({ reactor }, Number(lagPositions));
        seconds.set({ reactor }, lagSeconds);
        aside.set({ reactor }, counts.get(reactor) ?? 0);
      }
    } catch (error) {
      log.warn({ err: error }, "reactors cannot be measured");
    }
  };
}

/** Younger deliveries are under way. */
const lineOverdueMs = 10_000;

function gaugeLines(
  registry: Registry,
  { db, now, log }: MetricsOptions["deps"],
): () => Promise<void> {
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers: [registry] });
  const lines = gauge(
    "webhook_lines_standing",
    "Webhooks with deliveries that have been due for ten seconds and that no worker has begun.",
  );
  const seconds = gauge(
    "webhook_line_standing_seconds",
    "For how long the oldest of these deliveries has been due.",
  );

  return async () => {
    for (const each of [lines, seconds]) each.reset();
    try {
      const at = now().getTime();
      const stalled = await stalledQueues(db, new Date(at - lineOverdueMs));
      const oldest = Math.min(at, ...stalled.map(({ dueAt }) => dueAt.getTime()));
      lines.set(stalled.length);
      seconds.set((at - oldest) / 1000);
    } catch (error) {
      log.warn({ err: error }, "lines of webhooks cannot be measured");
    }
  };
}

/** Not counted in this process, which may be the one that was killed. */
function gaugeKills(registry: Registry): () => void {
  const gauge = new Gauge({
    name: "event_loop_kills",
    help: "Processes killed within the last day because their event loop stood still.",
    labelNames: ["role", "operation"] as const,
    registers: [registry],
  });
  return () => {
    gauge.reset();
    for (const { role, running } of recentKills()) {
      gauge.inc({ role, operation: running?.name ?? "none" });
    }
  };
}

function gaugeQueues(
  registry: Registry,
  { queues, log }: MetricsOptions["deps"],
  names: () => Promise<readonly string[]>,
): () => Promise<void> {
  const gauge = new Gauge({
    name: "queue_jobs",
    help: "Jobs by queue and state.",
    labelNames: ["queue", "state"] as const,
    registers: [registry],
  });

  const jobCounts = (name: string): Promise<Readonly<Record<string, number>>> =>
    queues
      .queue(name)
      .getJobCounts(...queueStates)
      .catch((error: unknown) => {
        log.warn({ err: error, queue: name }, "a queue cannot be measured");
        return {};
      });

  return async () => {
    gauge.reset();
    for (const queue of await names()) {
      const counts = await jobCounts(queue);
      for (const state of queueStates) gauge.set({ queue, state }, counts[state] ?? 0);
    }
  };
}
