import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { readSettings } from "../src/config.ts";
import { configOfRunning } from "../src/embedded/service-file.ts";
import { openEventStore } from "../src/platform/event-store/eventstoredb.ts";
import { listen, openPostgres } from "../src/platform/postgres.ts";
import { watchProjections } from "../src/projections/core/visible.ts";
import { metadataFor } from "../test/support/history.ts";
import { startService } from "../test/support/service.ts";

/**
 * Milliseconds from an append until every read model shows it, against the least that any such
 * design costs: a durable commit on the same PostgreSQL that another connection is notified of.
 */
const writes = Number(process.argv[2] ?? 300);

const directory = await mkdtemp(path.join(tmpdir(), "ledgerforge-bench-"));
const dataDir = path.join(directory, "data");
const service = await startService(dataDir, { LOG_LEVEL: "warn" });
const { databaseUrl, eventStoreUrl } = await configOfRunning(readSettings({ DATA_DIR: dataDir }));
const db = openPostgres(databaseUrl);
const store = openEventStore(eventStoreUrl);
const watching = await watchProjections({ databaseUrl, db });
const closing = new AbortController();
try {
  const baseline = await commitAndNotify();
  const appends: number[] = [];
  const shown: number[] = [];
  for (let n = 0; n < writes + 20; n += 1) {
    const startedAt = performance.now();
    const position = await append(n);
    const appendedAt = performance.now();
    await watching.visible(position);
    // The first ones pay for connections and compilation.
    if (n < 20) continue;
    appends.push(appendedAt - startedAt);
    shown.push(performance.now() - startedAt);
  }
  const line = (name: string, values: readonly number[]): string =>
    `${name}: p50 ${at(values, 0.5)} ms, p95 ${at(values, 0.95)} ms\n`;
  process.stdout.write(line("append", appends));
  process.stdout.write(line("append until visible", shown));
  process.stdout.write(line("bare commit until notified", baseline));
  const ratio = Number(at(shown, 0.5)) / Number(at(baseline, 0.5));
  process.stdout.write(`ratio of the medians: ${ratio.toFixed(2)}\n`);
} finally {
  closing.abort();
  await watching.close();
  await store.close();
  await db.destroy();
  await service.stop();
  await rm(directory, { recursive: true, force: true });
}

async function append(n: number): Promise<bigint> {
  const id = randomUUID();
  const at = "2026-01-02T03:04:05.678Z";
  const data = { branch: `b${n}`, commitId: "1".repeat(40), changedById: null, changedAt: at };
  const event = { type: "BranchCreated", data, id, metadata: metadataFor(id) };
  return (await store.append(`repository-${randomUUID()}`, "none", [event])).position;
}

async function commitAndNotify(): Promise<readonly number[]> {
  let heard = (): void => undefined;
  await listen(databaseUrl, "bench", () => heard(), closing.signal);
  await db.raw("create table if not exists bench (id text primary key)");
  const took: number[] = [];
  for (let n = 0; n < writes; n += 1) {
    const startedAt = performance.now();
    const notified = new Promise<void>((resolve) => {
      heard = resolve;
    });
    await db.transaction(async (tx) => {
      await tx("bench").insert({ id: randomUUID() });
      await tx.raw("select pg_notify('bench', '')");
    });
    await notified;
    took.push(performance.now() - startedAt);
  }
  return took;
}

function at(values: readonly number[], share: number): string {
  const sorted = [...values].sort((a, b) => a - b);
  return (sorted[Math.floor(sorted.length * share)] ?? Number.NaN).toFixed(1);
}
