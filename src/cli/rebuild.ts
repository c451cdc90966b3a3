import { parseArgs } from "node:util";
import { InstantOrDay } from "../events/core/ids.ts";
import { allProjections } from "../projections/all.ts";
import { CannotApply, type Projection } from "../projections/core/projection.ts";
import { type Rebuilt, rebuild } from "../projections/core/rebuild.ts";
import {
  isPastSchema,
  type LogEnd,
  rebuildUntil,
  SchemaTaken,
} from "../projections/past/rebuild-until.ts";
import { setBackReactors } from "../services/core/reactor-checkpoint.ts";
import { CommandEnd, exits, orInterrupted } from "./command-end.ts";
import { duration, progressView } from "./progress.ts";
import { stopSignal } from "./stop-signal.ts";
import { type Stores, withStores } from "./stores.ts";
import { write } from "./write.ts";

const exitDiffers = 1;
const closeLimitMs = 10_000;

/**
 * Builds all read models again, or those named, while the service goes on answering. With --verify
 * says whether the tables are equal before and after, and exits with 1 when they are not. With --until
 * builds them as they were, into a schema of their own.
 */
export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      verify: { type: "boolean", default: false },
      until: { type: "string" },
      schema: { type: "string" },
    },
  });
  const past = pastOf(values);
  const unknown = positionals.filter((wanted) => find(wanted) === undefined);
  if (unknown.length > 0) {
    const names = allProjections.map(({ name }) => name).join(", ");
    throw new CommandEnd(`No read model named ${unknown.join(", ")}; there are ${names}.`);
  }
  const projections = allProjections.filter(
    ({ name }) => positionals.length === 0 || positionals.includes(name),
  );
  return withStores("rebuild", (stores) =>
    past === undefined
      ? rebuildAll(stores, projections, values.verify)
      : rebuildPast(stores, projections, past),
  ).catch(failed);
}

function failed(error: unknown): never {
  if (!(error instanceof CannotApply)) throw error;
  throw new CommandEnd(`${error.message}. What was not finished stays as it was.`, exits.bad);
}

type Past = Readonly<{ until: LogEnd; schema: string }>;

/** What --until and --schema request. @throws CommandEnd */
function pastOf({
  until,
  schema,
  verify,
}: Readonly<{
  until?: string | undefined;
  schema?: string | undefined;
  verify: boolean;
}>): Past | undefined {
  const wrong = (text: string) => new CommandEnd(text);
  if (until === undefined && schema === undefined) return undefined;
  if (until === undefined) throw wrong("--schema needs --until.");
  if (verify) {
    throw wrong("--verify compares with the live read models, which --until does not build.");
  }
  const end = endOf(until);
  if (end === undefined) {
    throw wrong("--until takes a position of the log, or a time such as 2026-01-02T03:04:05Z.");
  }
  const name = schema ?? "past";
  if (isPastSchema(name)) return { until: end, schema: name };
  throw wrong(
    `--schema takes up to 50 of a-z, 0-9 and _, and no name that is in use: not ${name}.`,
  );
}

function endOf(text: string): LogEnd | undefined {
  if (/^\d{1,18}$/.test(text)) return { position: BigInt(text) };
  return InstantOrDay.safeParse(text).success ? { time: new Date(text) } : undefined;
}

async function rebuildPast(
  { config, db, store, vault, log }: Stores,
  projections: readonly Projection[],
  past: Past,
): Promise<number> {
  const stop = stopSignal(closeLimitMs);
  const view = progressView(process.stderr);
  const context = { open: vault.open };
  const deps = { databaseUrl: config.databaseUrl, db, store, projections, context, log };
  const options = { ...past, signal: stop.signal, onProgress: view.show };
  const built = await rebuildUntil(deps, projections, options)
    .catch((error: unknown) => {
      if (!(error instanceof SchemaTaken)) throw error;
      throw new CommandEnd(`${error.message}: choose another by --schema.`);
    })
    .catch(orInterrupted(stop.signal, "Interrupted: nothing was changed."))
    .finally(view.end);
  if (built === undefined) {
    throw new CommandEnd(`Another rebuild of the schema ${past.schema} is running.`, exits.busy);
  }
  const { events, position, elapsedMs } = built;
  const took = duration(elapsedMs / 1000);
  write(
    process.stdout,
    `Built ${events} events, up to position ${position}, into the schema ${past.schema} in ${took}.\n` +
      `Look at it with SQL: set search_path to ${past.schema}, public; remove it by drop schema ${past.schema} cascade.\n`,
  );
  return 0;
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
    .catch(orInterrupted(stop.signal, "Interrupted: what was not finished stays as it was."))
    .finally(view.end);
  if (rebuilt === undefined) throw new CommandEnd("Another rebuild is running.", exits.busy);
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
