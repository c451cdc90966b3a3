import { access, readFile, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";

import { ConfigError } from "../../config.ts";
import { ifThere } from "../../platform/if-there.ts";
import { syncFile } from "../../platform/sync-file.ts";

const Count = z.string().regex(/^-?\d{1,19}$/);

const File = z.object({
  /** Beside the manifest. */
  name: z.string().regex(/^[\w.-]+\.jsonl\.gz$/),
  lines: z.int().nonnegative(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});

/**
 * It grows with each table that a backup may have and earlier releases do not restore: they then refuse it before they
 * write anything. The second has `vault_key_gone`.
 */
export const backupFormat = 2;

/** What a backup is; written last, so a directory without it holds none that is whole. */
const Manifest = z.object({
  format: z.int().min(1).max(backupFormat),
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
  await writeFile(draft, `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600, flush: true });
  for (const { name } of [manifest.events, manifest.tables]) {
    await access(path.join(directory, name));
  }
  await rename(draft, fileOf(directory));
  await syncFile(directory);
}

/** @returns undefined when the directory has none @throws ConfigError for one that cannot be read */
export async function findManifest(directory: string): Promise<Manifest | undefined> {
  const text = await ifThere(readFile(fileOf(directory), "utf8"));
  if (text === undefined) return undefined;
  try {
    const content: unknown = JSON.parse(text);
    mustBeReadable(content, directory);
    return Manifest.parse(content);
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const why = error instanceof z.ZodError ? z.prettifyError(error) : String(error);
    throw new ConfigError(`${fileOf(directory)} is no backup that this version reads:\n${why}`);
  }
}

/** @throws ConfigError */
function mustBeReadable(manifest: unknown, directory: string): void {
  const { success, data } = z.object({ format: z.int() }).safeParse(manifest);
  if (!success || data.format <= backupFormat) return;
  throw new ConfigError(
    `The backup in ${directory} was made by a newer release (format ${data.format}; this one restores up to ` +
      `${backupFormat}): restore it with that release, or a later one.`,
  );
}
