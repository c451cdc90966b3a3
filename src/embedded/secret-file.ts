import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";

import { writeFirst } from "../platform/first-file.ts";
import { ifThere } from "../platform/if-there.ts";

/** A secret kept in a file for its owner alone; made at random when there is none yet. */
export async function ensureSecretFile(file: string, bytes: number): Promise<string> {
  const existing = await readSecretFile(file);
  if (existing !== undefined) return existing;
  const secret = randomBytes(bytes).toString("base64url");
  await writeFirst(file, `${secret}\n`);
  return (await readSecretFile(file)) ?? secret;
}

export async function readSecretFile(file: string): Promise<string | undefined> {
  return (await ifThere(readFile(file, "utf8")))?.trim();
}
