import { Readable } from "node:stream";
import { setTimeout } from "node:timers/promises";
import type { Knex } from "knex";

import type { Deps } from "../../core/deps.ts";

type Counted = Readonly<{
  packageVersionId: string;
  /** In what is read. */
  bytes: number;
  /** Whether what is read ends with the last byte of the file. */
  endsIt: boolean;
}>;

/**
 * Counts a download of a version's file when its last byte is handed on, beside the answer: a client
 * that reads it in parts counts once; a revalidation or a HEAD request does not count.
 */
export function countDownload(
  body: Readable,
  { packageVersionId, bytes, endsIt }: Counted,
  { db, log }: Pick<Deps, "db" | "log">,
): Readable {
  if (!endsIt) return body;
  const note = (): void => noteDownload(packageVersionId, { db, log });
  // By the bytes: a client that has them all may be gone before the stream has noticed its end.
  const counted = Readable.from(upTo(body, bytes, note), { objectMode: false });
  // Of an answer without a body nothing is ever read.
  return counted.once("close", () => body.destroy());
}

/** A commit for each download would cost more than the download of a small file. */
const pauseMs = 100;

type Notes = { counts: Map<string, number>; isWriting: boolean };

/** What has yet to be written to each database. */
const notes = new WeakMap<Knex, Notes>();

/** The first one is written at once, those that come meanwhile and in the pause after it together. */
function noteDownload(id: string, deps: Pick<Deps, "db" | "log">): void {
  const own = notes.get(deps.db) ?? { counts: new Map<string, number>(), isWriting: false };
  notes.set(deps.db, own);
  own.counts.set(id, (own.counts.get(id) ?? 0) + 1);
  if (!own.isWriting) void write(own, deps);
}

async function write(own: Notes, { db, log }: Pick<Deps, "db" | "log">): Promise<void> {
  own.isWriting = true;
  while (own.counts.size > 0) {
    // In one order, so that two processes do not wait for each other.
    const rows = [...own.counts]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([id, downloads]) => ({ package_version_id: id, downloads }));
    own.counts.clear();
    await db("public.package_download")
      .insert(rows)
      .onConflict("package_version_id")
      .merge({ downloads: db.raw("package_download.downloads + excluded.downloads") })
      .catch((error: unknown) => log.debug({ err: error }, "downloads were not counted"));
    await setTimeout(pauseMs, undefined, { ref: false });
  }
  own.isWriting = false;
}

async function* upTo(body: Readable, bytes: number, note: () => void): AsyncGenerator<Buffer> {
  let left = bytes;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    left -= chunk.length;
    if (left === 0) note();
    yield chunk;
  }
}

/** Of each of these versions; those never downloaded are left out. */
export async function downloadsOf(
  db: Knex,
  packageVersionIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows: readonly Readonly<{ package_version_id: string; downloads: bigint }>[] = await db(
    "public.package_download",
  ).whereIn("package_version_id", [...packageVersionIds]);
  return new Map(rows.map((row) => [row.package_version_id, Number(row.downloads)]));
}
