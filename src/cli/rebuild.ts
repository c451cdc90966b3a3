import { parseArgs } from "node:util";
import { allProjections } from "../projections/all.ts";
import type { Projection } from "../projections/core/projection.ts";
import { type Rebuilt, rebuild } from "../projections/core/rebuild.ts";
import { setBackReactors } from "../workers/core/reactor-checkpoint.ts";
import { duration, progressView } from "./progress.ts";
import { stopSignal } from "./stop-signal.ts";
import { type Stores, withStores } from "./stores.ts";
import { write } from "./write.ts";

const exitUsage = 64;
const exitDiffers = 1;
const exitBusy = 75;
const exitInterrupted = 130;
const closeLimitMs = 10_000;

/**
 * Builds all read models again, or those named, while the service goes on answering. With --verify
 * says whether the tables are equal before and after, and exits with 1 when they are not.
 */
export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { verify: { type: "boolean", default: false } },
  });
  const unknown = positionals.filter((wanted) => find(wanted) === undefined);
  if (unknown.length > 0) {
    const names = allProjections.map(({ name }) => name).join(", ");
    write(process.stderr, `No read model named ${unknown.join(", ")}; there are ${names}.\n`);
    return exitUsage;
  }
  const projections = allProjections.filter(
    ({ name }) => positionals.length === 0 || positionals.includes(name),
  );
  return withStores("rebuild", (stores) => rebuildAll(stores, projections, values.verify));
}

async function rebuildAll(
  { config, db, store, vault, log }: Stores,
  projections: readonly Projection[],
  verify: boolean,
): Promise<number> {
  const stop = stopSignal(closeLimitMs);
  const view = progressView(process.stderr);
  const deps = {
    databaseUrl: config.databaseUrl,
    db,
    store,
    projections: allProjections,
    context: { open: vault.open },
    log,
  };
  const options = { signal: stop.signal, onProgress: view.show, verify };
  const rebuilt = await rebuild(deps, projections, options)
    .catch((error: unknown) => {
      if (stop.signal.aborted) return "interrupted" as const;
      throw error;
    })
    .finally(view.end);
  if (rebuilt === "interrupted") {
    write(process.stderr, "Interrupted: what was not finished stays as it was.\n");
    return exitInterrupted;
  }
  if (rebuilt === undefined) {
    write(process.stderr, "Another rebuild is running.\n");
    return exitBusy;
  }
  await setBackReactors(db, (await store.end()) ?? -1n);
  return report(projections, rebuilt);
}

function report(projections: readonly Projection[], rebuilt: Rebuilt): number {
  const { events, elapsedMs, comparisons } = rebuilt;
  const names = projections.map(({ name }) => name).join(", ");
  const took = duration(elapsedMs / 1000);
  write(process.stdout, `Rebuilt ${names} from ${events} events in ${took}.\n`);
  for (const { table, rowsBefore, rowsAfter, equal } of comparisons) {
    const counts = rowsBefore === rowsAfter ? `${rowsAfter} rows` : `${rowsBefore} → ${rowsAfter}`;
    write(process.stdout, `  ${equal ? "equal  " : "DIFFERS"} ${table}, ${counts}\n`);
  }
  return comparisons.every(({ equal }) => equal) ? 0 : exitDiffers;
}

function find(wanted: string): Projection | undefined {
  return allProjections.find(({ name }) => name === wanted);
}
