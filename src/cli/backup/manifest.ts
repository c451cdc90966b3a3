import { access, open, readFile, rename } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";

import { ConfigError } from "../../config.ts";
import { syncFile } from "../../platform/sync-file.ts";

const Count = z.string().regex(/^-?\d{1,19}$/);

const File = z.object({
  /** Beside the manifest. */
  name: z.string().regex(/^[\w.-]+\.jsonl\.gz$/),
  lines: z.int().nonnegative(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});

/** What a backup is; written last, so a directory without it holds none that is whole. */
const Manifest = z.object({
  format: z.literal(1),
  createdAt: z.iso.datetime(),
  /** Position of the last event of it; null for an empty log. */
  position: Count.nullable(),
  /** Of the Merkle tree over its events (RFC 9162), base64. */
  rootHash: z.base64(),
  events: File,
  tables: File,
  repositories: z.int().nonnegative(),
  blobs: z.int().nonnegative(),
  /** How far each reactor was at least, by positions of the log that was backed up. */
  reactors: z.record(z.string(), Count),
  /** Distinguishes the right SECRET_KEY from a wrong one, and nothing about it. */
  keyCheck: z.string(),
});
export type Manifest = z.output<typeof Manifest>;

const fileOf = (directory: string): string => path.join(directory, "backup.json");

/** @throws Error when a file that it names is not there: an earlier manifest stays then */
export async function writeManifest(directory: string, manifest: Manifest): Promise<void> {
  const draft = `${fileOf(directory)}.new`;
  const handle = await open(draft, "w", 0o600);
  try {
    await handle.writeFile(`${JSON.stringify(manifest, null, 2)}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  for (const { name } of [manifest.events, manifest.tables]) {
    await access(path.join(directory, name));
  }
  await rename(draft, fileOf(directory));
  await syncFile(directory);
}

/** @returns undefined when the directory has none @throws ConfigError for one that cannot be read */
export async function findManifest(directory: string): Promise<Manifest | undefined> {
  let text: string;
  try {
    text = await readFile(fileOf(directory), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    return Manifest.parse(JSON.parse(text));
  } catch (error) {
    const why = error instanceof z.ZodError ? z.prettifyError(error) : String(error);
    throw new ConfigError(`${fileOf(directory)} is no backup that this version reads:\n${why}`);
  }
}
