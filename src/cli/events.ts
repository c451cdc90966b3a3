import { parseArgs } from "node:util";

import type { Recorded } from "../events/core/event.ts";
import { exportEvents } from "../projections/audit/event-export.ts";
import { importEvents, OtherLog } from "../projections/audit/event-import.ts";
import { checkHead } from "../projections/audit/head-check.ts";
import { BadLine, readSealedLog, sealedLine } from "../projections/audit/sealed-log.ts";
import { allReactors } from "../workers/all.ts";
import { putReactors } from "../workers/core/reactor-checkpoint.ts";
import { holdReactors } from "../workers/core/reactor-hold.ts";
import { DamagedFile, readLineFile } from "./backup/line-file.ts";
import { type KeptHead, readHead } from "./kept-head.ts";
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
       ledgerforge events import events.jsonl [--head head.json]
`;

/**
 * `events export`: the whole log as JSON lines, personal data in clear where it still can be read; with
 * --sealed as it is stored. `events import`: a sealed export into an empty instance that does not run; with an answer
 * of `/log/head` that was kept, only when the export begins with the very events that it was signed for.
 */
export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { sealed: { type: "boolean", default: false }, head: { type: "string" } },
  });
  const { sealed, head } = values;
  const [action, file, ...more] = positionals;
  if (action === "export" && file === undefined && head === undefined) return exportLog(sealed);
  if (action === "import" && file !== undefined && more.length === 0 && !sealed) {
    return importLog(file, head === undefined ? undefined : await readHead(head));
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

async function importLog(file: string, head: KeptHead | undefined): Promise<number> {
  const { signal } = stopSignal(closeLimitMs);
  const readAll = () => readSealedLog(readLineFile(file));
  try {
    // Every line is checked before the first one is written.
    if (head !== undefined) await mustBeginAs(head, readAll, signal);
    for await (const _ of readAll()) signal.throwIfAborted();
    const { events, root } = await withOfflineStores("events", signal, async ({ db, store }) => {
      // The reactions to these events were done on the former instance: nothing is mailed or sent again.
      const names = allReactors.map(({ name }) => name);
      const imported = await importEvents(readAll(), store, {
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
    if (isRefused(error)) {
      write(process.stderr, `${error.message}.\n`);
      return exitBad;
    }
    if (signal.aborted) {
      write(process.stderr, "Interrupted: run it again to go on.\n");
      return exitInterrupted;
    }
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined || !unreadable.has(code)) throw error;
    write(process.stderr, `The file ${file} cannot be read (${code}).\n`);
    return exitUsage;
  }
}

const isRefused = (error: unknown): error is Error =>
  error instanceof BadLine || error instanceof DamagedFile || error instanceof OtherLog;

const unreadable = new Set(["ENOENT", "EISDIR", "EACCES", "ENOTDIR"]);

/** A line that was changed, or left out at the end of its stream, looks like any other. @throws OtherLog */
async function mustBeginAs(
  head: KeptHead,
  readAll: () => AsyncIterable<Recorded>,
  signal: AbortSignal,
): Promise<void> {
  const { equal } = await checkHead({ readAll }, head, signal);
  if (equal) return;
  const what = `the head of ${head.timestamp} was signed for`;
  throw new OtherLog(`The file does not begin with the ${head.size} events that ${what}`);
}
