import { parseArgs } from "node:util";

import type { Recorded } from "../events/core/event.ts";
import { findOtherKey, noteKeyless, putVaultKeys } from "../platform/key/vault-keys.ts";
import { exportEvents } from "../projections/audit/event-export.ts";
import { importEvents, OtherLog } from "../projections/audit/event-import.ts";
import { checkHead } from "../projections/audit/head-check.ts";
import { BadLine, readSealedLog, sealedLine } from "../projections/audit/sealed-log.ts";
import { SealedSubjects } from "../projections/audit/sealed-subject.ts";
import { allReactors } from "../workers/all.ts";
import { putReactors } from "../workers/core/reactor-checkpoint.ts";
import { holdReactors } from "../workers/core/reactor-hold.ts";
import { DamagedFile, readLineFile } from "./backup/line-file.ts";
import { type KeptHead, readHead } from "./kept-head.ts";
import { BadKeysFile, checkKeysFile, keyLines, keysIn } from "./keys-file.ts";
import { writeLines } from "./lines.ts";
import { withOfflineStores } from "./offline-stores.ts";
import { stopSignal } from "./stop-signal.ts";
import { type Stores, withStores } from "./stores.ts";
import { write } from "./write.ts";

/** Imported, with keys missing in their file. */
const exitLacking = 1;
const exitUsage = 64;
const exitBad = 65;
const exitInterrupted = 130;
const closeLimitMs = 10_000;

const usage = `Usage: ledgerforge events export [--sealed] > events.jsonl
       ledgerforge events export --keys > keys.jsonl
       ledgerforge events import events.jsonl [--keys keys.jsonl] [--head head.json]
`;

/**
 * `events export`: the whole log as JSON lines, personal data in clear where it still can be read; with
 * --sealed as it is stored; with --keys, the keys that open it. `events import`: a sealed export into an empty instance
 * that does not run; with an answer of `/log/head` that was kept, only when the export begins with the very events that
 * it was signed for.
 */
export async function run(args: readonly string[]): Promise<number> {
  const [action, ...rest] = args;
  if (action === "export") return exportLog(rest);
  if (action === "import") return importLog(rest);
  return wrongUsage();
}

function wrongUsage(): number {
  write(process.stderr, usage);
  return exitUsage;
}

async function exportLog(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      sealed: { type: "boolean", default: false },
      keys: { type: "boolean", default: false },
    },
  });
  const { sealed, keys } = values;
  if (sealed && keys) return wrongUsage();
  return withStores("events", async ({ config, db, store, vault }) => {
    async function* sealedLines(): AsyncGenerator<string> {
      for await (const event of store.readAll()) yield sealedLine(event);
    }
    if (keys) await writeLines(keyLines(db, config.secretKey));
    else await writeLines(sealed ? sealedLines() : exportEvents(store, vault.open));
    return 0;
  });
}

type Import = Readonly<{ file: string; keysFile: string | undefined; signal: AbortSignal }>;

async function importLog(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { keys: { type: "string" }, head: { type: "string" } },
  });
  const [file, ...more] = positionals;
  if (file === undefined || more.length > 0) return wrongUsage();
  const head = values.head === undefined ? undefined : await readHead(values.head);
  const { signal } = stopSignal(closeLimitMs);
  try {
    return await importFrom({ file, keysFile: values.keys, signal }, head);
  } catch (error) {
    if (isRefused(error)) {
      write(process.stderr, `${error.message}.\n`);
      return exitBad;
    }
    if (signal.aborted) {
      write(process.stderr, "Interrupted: run it again to go on.\n");
      return exitInterrupted;
    }
    if (!(error instanceof UnreadableFile)) throw error;
    write(process.stderr, `${error.message}.\n`);
    return exitUsage;
  }
}

async function importFrom(from: Import, head: KeptHead | undefined): Promise<number> {
  const { file, keysFile, signal } = from;
  const readAll = () => readSealedLog(linesOf(file));
  // Every line is checked before the first one is written.
  if (head !== undefined) await mustBeginAs(head, readAll, signal);
  const subjects = new SealedSubjects();
  for await (const event of readAll()) {
    signal.throwIfAborted();
    subjects.add(event);
  }
  if (keysFile !== undefined) await checkKeysFile(keysFile, linesOf(keysFile));
  const { events, root, keyless } = await withOfflineStores("events", signal, (stores) =>
    put(stores, from, { readAll, subjects }),
  );
  write(
    process.stdout,
    `The log has ${events} events; the root of the tree over them is ${root.toString("base64")}.\n`,
  );
  if (keyless === 0) return 0;
  const of = `Keys of ${keyless} people, projects and others are missing`;
  write(process.stderr, `${of}: what the log has sealed for them cannot be read.\n`);
  return keysFile === undefined ? 0 : exitLacking;
}

type Log = Readonly<{ readAll: () => AsyncIterable<Recorded>; subjects: SealedSubjects }>;

async function put({ db, store }: Stores, from: Import, { readAll, subjects }: Log) {
  const { keysFile, signal } = from;
  // A key that was exported before its person was forgotten must not come back.
  const isKept = (subject: string) => subjects.isKept(subject);
  const keys = () => (keysFile === undefined ? nothing() : keysIn(linesOf(keysFile), isKept));
  const other = await findOtherKey(db, keys());
  if (other !== undefined) throw new OtherLog(`This instance has another key of ${other} already`);
  // The reactions to these events were done on the former instance: nothing is mailed or sent again.
  const names = allReactors.map(({ name }) => name);
  const imported = await importEvents(readAll(), store, {
    signal,
    beforeFirst: () => holdReactors(db, names),
  });
  await putVaultKeys(db, keys());
  const keyless = await noteKeyless(db, subjects.sealed);
  const end = imported.head ?? -1n;
  await putReactors(db, new Map(names.map((name) => [name, end])));
  return { ...imported, keyless: keyless.filter(isKept).length };
}

async function* nothing(): AsyncGenerator<never> {}

const isRefused = (error: unknown): error is Error =>
  [BadKeysFile, BadLine, DamagedFile, OtherLog].some((kind) => error instanceof kind);

const unreadable = new Set(["ENOENT", "EISDIR", "EACCES", "ENOTDIR"]);

class UnreadableFile extends Error {
  override readonly name = "UnreadableFile";
}

/** @throws UnreadableFile, DamagedFile */
async function* linesOf(file: string): AsyncGenerator<string> {
  try {
    yield* readLineFile(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined || !unreadable.has(code)) throw error;
    throw new UnreadableFile(`The file ${file} cannot be read (${code})`);
  }
}

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
