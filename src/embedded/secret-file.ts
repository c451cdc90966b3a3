import { randomBytes } from "node:crypto";
import { open, readFile, rename } from "node:fs/promises";
import path from "node:path";

import { syncFile } from "../platform/sync-file.ts";

/** A secret kept in a file for its owner alone; made at random when there is none yet. */
export async function ensureSecretFile(file: string, bytes: number): Promise<string> {
  const existing = await readSecretFile(file);
  if (existing !== undefined) return existing;
  const secret = randomBytes(bytes).toString("base64url");
  const draft = `${file}.new`;
  const handle = await open(draft, "w", 0o600);
  try {
    await handle.chmod(0o600);
    await handle.writeFile(`${secret}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(draft, file);
  await syncFile(path.dirname(file));
  return secret;
}

export async function readSecretFile(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
