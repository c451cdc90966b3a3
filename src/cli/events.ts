import { parseArgs } from "node:util";

import { exportEvents } from "../projections/audit/event-export.ts";
import { importEvents, OtherLog } from "../projections/audit/event-import.ts";
import { BadLine, readSealedLog, sealedLine } from "../projections/audit/sealed-log.ts";
import { allReactors } from "../workers/all.ts";
import { putReactors } from "../workers/core/reactor-checkpoint.ts";
import { holdReactors } from "../workers/core/reactor-hold.ts";
import { readLineFile } from "./backup/line-file.ts";
import { writeLines } from "./lines.ts";
import { withOfflineStores } from "./offline-stores.ts";
import { stopSignal } from "./stop-signal.ts";
import { withStores } from "./stores.ts";
import { write } from "./write.ts";

const exitUsage = 64;
const exitBad = 65;
const exitInterrupted = 130;
const closeLimitMs = 10_000;

const usage = `Usage: ledgerforge events export [--sealed] > events.jsonl
       ledgerforge events import events.jsonl
`;

/**
 * `events export`: the whole log as JSON lines, personal data in clear where it still can be read; with
 * --sealed as it is stored. `events import`: a sealed export into an empty instance that does not run.
 */
export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { sealed: { type: "boolean", default: false } },
  });
  const [action, file, ...more] = positionals;
  if (action === "export" && file === undefined) return exportLog(values.sealed);
  if (action === "import" && file !== undefined && more.length === 0 && !values.sealed) {
    return importLog(file);
  }
  write(process.stderr, usage);
  return exitUsage;
}

function exportLog(sealed: boolean): Promise<number> {
  return withStores("events", async ({ store, vault }) => {
    async function* sealedLines(): AsyncGenerator<string> {
      for await (const event of store.readAll()) yield sealedLine(event);
    }
    await writeLines(sealed ? sealedLines() : exportEvents(store, vault.open));
    return 0;
  });
}

async function importLog(file: string): Promise<number> {
  const { signal } = stopSignal(closeLimitMs);
  try {
    // Every line is checked before the first one is written.
    for await (const _ of readSealedLog(readLineFile(file))) signal.throwIfAborted();
    const { events, root } = await withOfflineStores("events", signal, async ({ db, store }) => {
      // The reactions to these events were done on the former instance: nothing is mailed or sent again.
      const names = allReactors.map(({ name }) => name);
      const imported = await importEvents(readSealedLog(readLineFile(file)), store, {
        signal,
        beforeFirst: () => holdReactors(db, names),
      });
      const end = imported.head ?? -1n;
      await putReactors(db, new Map(names.map((name) => [name, end])));
      return imported;
    });
    write(
      process.stdout,
      `The log has ${events} events; the root of the tree over them is ${root.toString("base64")}.\n`,
    );
    return 0;
  } catch (error) {
    if (error instanceof BadLine || error instanceof OtherLog) {
      write(process.stderr, `${error.message}.\n`);
      return exitBad;
    }
    if (signal.aborted) {
      write(process.stderr, "Interrupted: run it again to go on.\n");
      return exitInterrupted;
    }
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    write(process.stderr, `There is no file ${file}.\n`);
    return exitUsage;
  }
}
