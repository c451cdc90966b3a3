import { randomUUID } from "node:crypto";
import { link, rm, writeFile } from "node:fs/promises";
import path from "node:path";

import { syncFile } from "./sync-file.ts";

/**
 * Writes a file for its owner alone, unless it is there: of processes that do so at the same moment, the first one's
 * counts. It is complete and on the disk before it has its name.
 */
export async function writeFirst(file: string, text: string): Promise<void> {
  const draft = `${file}.${randomUUID()}`;
  await writeFile(draft, text, { mode: 0o600, flag: "wx", flush: true });
  try {
    await link(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    await rm(draft);
  }
  await syncFile(path.dirname(file));
}
