import { createHash, type Hash, randomUUID } from "node:crypto";
import { mkdir, open, readdir, rm, stat } from "node:fs/promises";
import path from "node:path";
import { type Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";

import { Refusal } from "../refusal.ts";
import type { Spooled } from "./store.ts";

/** Digests of the same bytes, in lower case hex. */
export type Digests = Readonly<{ md5: string; sha1: string; sha256: string; sha512: string }>;

export type SpoolOptions = Readonly<{
  /** More is refused as soon as it comes. */
  bytesMax: number;
  /** What the bytes must turn out to be, when the sender has said so. */
  expected?: Readonly<{ sha256: string; bytes: number }> | undefined;
  signal?: AbortSignal | undefined;
}>;

export type SpooledContent = Spooled & Readonly<{ digests: Digests }>;

const hashNames = ["md5", "sha1", "sha256", "sha512"] as const;
type HashName = (typeof hashNames)[number];

const writeBytes = 256 * 1024;

/**
 * Writes the bytes to a new file of the directory as they come, no faster than the disk takes them,
 * and computes their digests on the way. Whatever goes wrong, nothing is left behind.
 *
 * @throws Refusal 413 `blob.too_large`, 422 `blob.digest_mismatch`, `blob.size_mismatch`; what the
 *   source throws
 */
export async function spool(
  source: Readable,
  directory: string,
  options: SpoolOptions,
): Promise<SpooledContent> {
  const { digestOf, ...spooled } = await gather(source, directory, options, hashNames);
  const [md5, sha1, sha256, sha512] = hashNames.map(digestOf) as [string, string, string, string];
  return { ...spooled, digests: { md5, sha1, sha256, sha512 } };
}

/**
 * The same for what nobody asks other digests of: they take twice as long as the one that is needed.
 *
 * @throws as `spool`
 */
export async function spoolPlain(
  source: Readable,
  directory: string,
  options: SpoolOptions,
): Promise<Spooled> {
  const { file, digest, bytes } = await gather(source, directory, options, ["sha256"]);
  return { file, digest, bytes };
}

async function gather(
  source: Readable,
  directory: string,
  { bytesMax, expected, signal }: SpoolOptions,
  names: readonly HashName[],
): Promise<Spooled & Readonly<{ digestOf: (name: HashName) => string }>> {
  // What breaks before the pipeline hears it is reported by the pipeline all the same.
  source.on("error", () => undefined);
  await mkdir(directory, { recursive: true });
  const file = path.join(directory, randomUUID());
  // md5 and sha1 are for those who ask for them; content is told apart by sha256.
  const hashes = names.map((name) => createHash(name));
  const measured = { bytes: 0 };
  // Opened before anything can go wrong: a file that is opened late would come after its removal.
  const handle = await open(file, "wx");
  const sink = handle.createWriteStream({ flush: true, highWaterMark: writeBytes });
  try {
    await pipeline(source, measure(hashes, measured, bytesMax), sink, signal ? { signal } : {});
    const digests = new Map(hashes.map((hash, index) => [names[index], hash.digest("hex")]));
    const digestOf = (name: HashName): string => digests.get(name) ?? "";
    const { bytes } = measured;
    const digest = digestOf("sha256");
    if (expected !== undefined) mustBe(expected, { sha256: digest, bytes });
    return { file, digest, bytes, digestOf };
  } catch (error) {
    sink.destroy();
    await rm(file, { force: true });
    throw error;
  }
}

function measure(
  hashes: readonly Hash[],
  measured: { bytes: number },
  bytesMax: number,
): Transform {
  return new Transform({
    highWaterMark: writeBytes,
    transform(chunk: Buffer, _encoding, done) {
      measured.bytes += chunk.length;
      if (measured.bytes > bytesMax) {
        done(new Refusal("too_large", "blob.too_large", `The content is over ${bytesMax} bytes.`));
        return;
      }
      for (const hash of hashes) hash.update(chunk);
      done(null, chunk);
    },
  });
}

type Measured = Readonly<{ sha256: string; bytes: number }>;

function mustBe(expected: Measured, actual: Measured): void {
  if (actual.bytes !== expected.bytes) {
    const message = `${actual.bytes} bytes came, not ${expected.bytes}.`;
    throw new Refusal("unprocessable", "blob.size_mismatch", message);
  }
  if (actual.sha256 !== expected.sha256) {
    const message = "The content is not what its object id says.";
    throw new Refusal("unprocessable", "blob.digest_mismatch", message);
  }
}

/** Files of dead processes: nobody writes to one for longer than uploads may take. */
export async function removeOlder(directory: string, before: Date): Promise<void> {
  const names = await readdir(directory).catch(() => []);
  for (const name of names) {
    const file = path.join(directory, name);
    const found = await stat(file).catch(() => undefined);
    if (found !== undefined && found.mtime < before)
      await rm(file, { recursive: true, force: true });
  }
}
