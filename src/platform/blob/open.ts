import path from "node:path";
import type { Knex } from "knex";

import { type Blobs, blobsOn } from "./blobs.ts";
import { directoryStorage } from "./directory.ts";
import { parseBlobUrl } from "./url.ts";

export type BlobConfig = Readonly<{
  dataDir: string;
  /** `s3://bucket/prefix?endpoint=…&region=…`; a directory of `dataDir` when not given. */
  blobUrl?: string | undefined;
}>;

/** The store of large content: files of releases and packages, LFS objects. */
export async function openBlobs({ dataDir, blobUrl }: BlobConfig, db: Knex): Promise<Blobs> {
  const directory = path.resolve(dataDir, "blobs");
  if (blobUrl === undefined) return blobsOn(directoryStorage(directory), db);
  // The client is large, and most instances do without it.
  const { s3Storage } = await import("./s3.ts");
  return blobsOn(s3Storage(parseBlobUrl(blobUrl), path.join(directory, "temporary")), db);
}
