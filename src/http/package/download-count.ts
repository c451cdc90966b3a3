import { Readable } from "node:stream";
import type { Knex } from "knex";

import type { Deps } from "../core/deps.ts";

type Counted = Readonly<{
  packageVersionId: string;
  /** In what is read. */
  bytes: number;
  /** Whether what is read ends with the last byte of the file. */
  endsIt: boolean;
}>;

/**
 * Counts a download of a version's file when its last byte is handed on, beside the answer: a client
 * that asks in parts counts once, one that has it already or asks for the head not at all.
 */
export function countDownload(
  body: Readable,
  { packageVersionId, bytes, endsIt }: Counted,
  { db, log }: Pick<Deps, "db" | "log">,
): Readable {
  if (!endsIt) return body;
  const note = (): void => {
    db("public.package_download")
      .insert({ package_version_id: packageVersionId, downloads: 1 })
      .onConflict("package_version_id")
      .merge({ downloads: db.raw("package_download.downloads + 1") })
      .catch((error: unknown) => log.debug({ err: error }, "a download was not counted"));
  };
  // By the bytes: a client that has them all may be gone before the stream has noticed its end.
  const counted = Readable.from(upTo(body, bytes, note), { objectMode: false });
  // Of an answer without a body nothing is ever read.
  return counted.once("close", () => body.destroy());
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
