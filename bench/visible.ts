import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { readSettings } from "../src/config.ts";
import { configOfRunning } from "../src/embedded/service-file.ts";
import { openEventStore } from "../src/platform/event-store/eventstoredb.ts";
import { listen, openPostgres } from "../src/platform/postgres.ts";
import { watchProjections } from "../src/projections/progress/visible.ts";
import { metadataFor } from "../test/support/app/history.ts";
import { startService } from "../test/support/app/service.ts";
import { roleMs, settled } from "./settled.ts";

/**
 * Milliseconds from an append until every read model that answers are read from shows it, against the least that any
 * such design costs: a durable commit on the same PostgreSQL that another connection is notified of. Once back to
 * back, where each append meets the work that the one before it has set going in the background, and once with a
 * pause before each, for which the bare commits have one as well. Then the processor time that an event has taken in
 * all processes of the service. Run: `npx tsx bench/visible.ts [appends]`.
 */
const writes = Number(process.argv[2] ?? 300);
/** Longer than background work waits for more of it. */
const paceMs = 400;
/** These take most of the time of a run. */
const pacedWrites = Math.ceil(writes / 3);

const directory = await mkdtemp(path.join(tmpdir(), "ledgerforge-bench-"));
const dataDir = path.join(directory, "data");
const service = await startService(dataDir, { LOG_LEVEL: "warn" });
const { databaseUrl, eventStoreUrl } = await configOfRunning(readSettings({ DATA_DIR: dataDir }));
const db = openPostgres(databaseUrl);
const store = openEventStore(eventStoreUrl);
const watching = await watchProjections({ databaseUrl, db });
const closing = new AbortController();
let heard = (): void => undefined;
try {
  await listen({ url: databaseUrl, channel: "bench" }, () => heard(), closing.signal);
  await db.raw("create table if not exists bench (id text primary key)");
  // The first ones pay for connections and compilation.
  for (let n = 0; n < 20; n += 1) await append();
  await measure("back to back", writes, 0);
  await measure("paced", pacedWrites, paceMs);
} finally {
  closing.abort();
  await watching.close();
  await store.close();
  await db.destroy();
  await service.stop();
  await rm(directory, { recursive: true, force: true });
}

async function measure(name: string, count: number, pauseMs: number): Promise<void> {
  const times = async (run: () => Promise<readonly number[]>) => {
    const all: (readonly number[])[] = [];
    for (let n = 0; n < count; n += 1) {
      if (pauseMs > 0) await delay(pauseMs);
      all.push(await run());
    }
    return all;
  };
  await settled(service);
  const bare = await times(commitAndNotify);
  await settled(service);
  const before = await roleMs(service);
  const appends = await times(append);
  await settled(service);
  const after = await roleMs(service);
  const column = (all: readonly (readonly number[])[], index: number): readonly number[] =>
    all.map((row) => row[index] ?? Number.NaN);
  const line = (what: string, values: readonly number[]): string =>
    `  ${what}: p50 ${at(values, 0.5)} ms, p95 ${at(values, 0.95)} ms\n`;
  const ratio = Number(at(column(appends, 1), 0.5)) / Number(at(column(bare, 0), 0.5));
  const used = [...after].map(
    ([role, ms]) => [role, (ms - (before.get(role) ?? 0)) / count] as const,
  );
  const sum = used.reduce((total, [, ms]) => total + ms, 0);
  process.stdout.write(
    `${name}:\n${line("append", column(appends, 0))}` +
      line("append until visible", column(appends, 1)) +
      line("bare commit until notified", column(bare, 0)) +
      `  ratio of the medians: ${ratio.toFixed(2)}\n` +
      `  processor time an event: ${used.map(([role, ms]) => `${role} ${ms.toFixed(1)}`).join(", ")}, ` +
      `all ${sum.toFixed(1)} ms\n`,
  );
}

/** Milliseconds until it is appended, and until it is visible. */
async function append(): Promise<readonly number[]> {
  const id = randomUUID();
  const changedAt = "2026-01-02T03:04:05.678Z";
  const data = { branch: "b", commitId: "1".repeat(40), changedById: null, changedAt };
  const event = { type: "BranchCreated", data, id, metadata: metadataFor(id) };
  const startedAt = performance.now();
  const { position } = await store.append(`repository-${randomUUID()}`, "none", [event]);
  const appendedAt = performance.now();
  await watching.visible(position);
  return [appendedAt - startedAt, performance.now() - startedAt];
}

async function commitAndNotify(): Promise<readonly number[]> {
  const startedAt = performance.now();
  const notified = new Promise<void>((resolve) => {
    heard = resolve;
  });
  await db.transaction(async (tx) => {
    await tx("bench").insert({ id: randomUUID() });
    await tx.raw("select pg_notify('bench', '')");
  });
  await notified;
  return [performance.now() - startedAt];
}

function at(values: readonly number[], share: number): string {
  const sorted = [...values].sort((a, b) => a - b);
  return (sorted[Math.floor(sorted.length * share)] ?? Number.NaN).toFixed(2);
}
