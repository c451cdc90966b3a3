import type { Recorded } from "../events/core/event.ts";
import { findOtherKey, noteKeyless, putVaultKeys } from "../platform/key/vault-keys.ts";
import { importEvents, OtherLog } from "../projections/audit/event-import.ts";
import { checkHead } from "../projections/audit/head-check.ts";
import { BadLine, readSealedLog } from "../projections/audit/sealed-log.ts";
import { SealedSubjects } from "../projections/audit/sealed-subject.ts";
import { putReactors } from "../services/core/reactor-checkpoint.ts";
import { holdReactors } from "../services/core/reactor-hold.ts";
import { allReactors } from "../workers/all.ts";
import { DamagedFile, readLineFile } from "./backup/line-file.ts";
import { CommandEnd, exits, orInterrupted } from "./command-end.ts";
import { BadKeysFile, checkKeysFile, keysIn } from "./keys-file.ts";
import { withOfflineStores } from "./offline-stores.ts";
import { readHead, type SavedHead } from "./saved-head.ts";
import { stopSignal } from "./stop-signal.ts";
import type { Stores } from "./stores.ts";
import { write } from "./write.ts";

/** Imported, with keys missing in their file. */
const exitLacking = 1;
const closeLimitMs = 10_000;

type Files = Readonly<{
  file: string;
  keysFile: string | undefined;
  headFile: string | undefined;
}>;

/** Puts a sealed export into an empty instance that does not run. @returns the exit code of the command */
export async function importFile({ file, keysFile, headFile }: Files): Promise<number> {
  const head = headFile === undefined ? undefined : await readHead(headFile);
  const { signal } = stopSignal(closeLimitMs);
  try {
    return await importFrom({ file, keysFile, signal }, head);
  } catch (error) {
    if (isRefused(error)) throw new CommandEnd(`${error.message}.`, exits.bad);
    return orInterrupted(signal, "Interrupted: run it again to go on.")(error);
  }
}

type Import = Readonly<{ file: string; keysFile: string | undefined; signal: AbortSignal }>;

async function importFrom(from: Import, head: SavedHead | undefined): Promise<number> {
  const { file, keysFile, signal } = from;
  const readAll = () => readSealedLog(linesOf(file));
  // Every line is checked before the first one is written.
  if (head !== undefined) await mustBeginAs(head, readAll, signal);
  const subjects = new SealedSubjects();
  for await (const event of readAll()) {
    signal.throwIfAborted();
    subjects.add(event);
  }
  if (keysFile !== undefined) {
    await checkKeysFile(keysFile, linesOf(keysFile), (subject) => subjects.textFor(subject));
  }
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
  const hasSubject = (subject: string) => subjects.isKept(subject);
  const keys = () => (keysFile === undefined ? nothing() : keysIn(linesOf(keysFile), hasSubject));
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
  return { ...imported, keyless: keyless.filter(hasSubject).length };
}

async function* nothing(): AsyncGenerator<never> {}

const isRefused = (error: unknown): error is Error =>
  [BadKeysFile, BadLine, DamagedFile, OtherLog].some((kind) => error instanceof kind);

const unreadable = new Set(["ENOENT", "EISDIR", "EACCES", "ENOTDIR"]);

/** @throws CommandEnd, DamagedFile */
async function* linesOf(file: string): AsyncGenerator<string> {
  try {
    yield* readLineFile(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined || !unreadable.has(code)) throw error;
    throw new CommandEnd(`The file ${file} cannot be read (${code}).`);
  }
}

/** A line that was changed, or left out at the end of its stream, looks like any other. @throws OtherLog */
async function mustBeginAs(
  head: SavedHead,
  readAll: () => AsyncIterable<Recorded>,
  signal: AbortSignal,
): Promise<void> {
  const { equal } = await checkHead({ readAll }, head, signal);
  if (equal) return;
  const what = `the head of ${head.timestamp} was signed for`;
  throw new OtherLog(`The file does not begin with the ${head.size} events that ${what}`);
}
