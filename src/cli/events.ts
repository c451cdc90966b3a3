import { parseArgs } from "node:util";

import type { Recorded } from "../events/core/event.ts";
import { exportEvents } from "../projections/audit/event-export.ts";
import { sealedLine } from "../projections/audit/sealed-log.ts";
import { CommandEnd } from "./command-end.ts";
import { usageOf } from "./help.ts";
import { keyLines } from "./keys-file.ts";
import { writeLines } from "./lines.ts";
import { LeftOut, ownEvents } from "./own-events.ts";
import { type Stores, withStores } from "./stores.ts";

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
  if (action === "note-lost-keys" && rest.length === 0) {
    const { runNoteLostKeys } = await import("./lost-keys.ts");
    return runNoteLostKeys();
  }
  throw new CommandEnd(usageOf("events"));
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
  if (sealed && keys) throw new CommandEnd(usageOf("events"));
  const writeLog = async ({ config, db, store, vault }: Stores): Promise<number> => {
    if (keys) {
      await writeLines(keyLines(db, config.secretKey));
      return 0;
    }
    const leftOut = new LeftOut();
    const readAll = () => ownEvents(store, leftOut, { isPutBack: sealed });
    await writeLines(sealed ? sealedLines(readAll()) : exportEvents({ readAll }, vault.open));
    leftOut.report();
    return 0;
  };
  // Works without the key, so that a log can be moved after SECRET_KEY was lost.
  return withStores("events", writeLog, { opens: !sealed });
}

async function* sealedLines(events: AsyncIterable<Recorded>): AsyncGenerator<string> {
  for await (const event of events) yield sealedLine(event);
}

async function importLog(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { keys: { type: "string" }, head: { type: "string" } },
  });
  const [file, ...more] = positionals;
  if (file === undefined || more.length > 0) throw new CommandEnd(usageOf("events"));
  // It needs the names of all reactors, and with them all workers; an export does not.
  const { importFile } = await import("./events-import.ts");
  return importFile({ file, keysFile: values.keys, headFile: values.head });
}
