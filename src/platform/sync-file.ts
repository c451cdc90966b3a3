import { open } from "node:fs/promises";

/** Waits until what was written to a file, or the entries of a directory, is on the disk: a rename then survives a power failure; fsync(2). */
export async function syncFile(file: string): Promise<void> {
  const handle = await open(file, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
