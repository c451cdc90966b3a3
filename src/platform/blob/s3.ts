import { createReadStream } from "node:fs";
import { rm } from "node:fs/promises";
import path from "node:path";
import { Readable } from "node:stream";
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  NoSuchKey,
  NotFound,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { Upload } from "@aws-sdk/lib-storage";

import { removeOlder } from "./spool.ts";
import { BlobMissing, type BlobStorage, blobPath, isBlobDigest, type Spooled } from "./store.ts";

export type S3Address = Readonly<{
  bucket: string;
  /** Before every key, without slashes at its ends; empty for none. */
  prefix: string;
  /** Of a server other than Amazon's. */
  endpoint?: string | undefined;
  region: string;
}>;

/** Larger content goes up in parts; S3 takes a single request of up to 5 GiB. */
const singleBytesMax = 16 * 1024 ** 2;
const partBytesMin = 16 * 1024 ** 2;
const partsMax = 10_000;
/** Each part under way is held in memory. */
const partsAtOnce = 2;
const listed = 1_000;

/**
 * Blobs as objects `<prefix>/ab/cd/<sha256>`. Content is gathered on this machine first, because
 * its name follows from its digest; an object of S3 appears whole or not at all. Credentials come
 * from where the AWS SDK looks for them: the environment, its files, the machine's role.
 */
export function s3Storage(address: S3Address, spoolDirectory: string): BlobStorage {
  const { bucket: Bucket, prefix, endpoint, region } = address;
  const client = new S3Client({
    region,
    // Other servers seldom have a host name for each bucket, nor the newest checksums.
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
  });
  const Prefix = prefix === "" ? "" : `${prefix}/`;
  const keyOf = (digest: string): string => Prefix + blobPath(digest);

  const stat: BlobStorage["stat"] = async (digest) => {
    const found = await orUndefined(
      client.send(new HeadObjectCommand({ Bucket, Key: keyOf(digest) })),
    );
    return found && { bytes: found.ContentLength ?? 0 };
  };

  return {
    spoolDirectory,

    async publish(spooled) {
      const there = await stat(spooled.digest);
      if (there?.bytes !== spooled.bytes) await upload(client, Bucket, keyOf, spooled);
      await rm(spooled.file, { force: true });
    },

    stat,

    async read(digest, range) {
      const Range = range && `bytes=${range.first}-${range.last}`;
      const command = new GetObjectCommand({ Bucket, Key: keyOf(digest), Range });
      const found = await orUndefined(client.send(command));
      if (found === undefined) throw new BlobMissing(digest);
      if (found.Body instanceof Readable) return found.Body;
      throw new Error("S3 answered without a body");
    },

    async remove(digest) {
      await client.send(new DeleteObjectCommand({ Bucket, Key: keyOf(digest) }));
    },

    async *list(before) {
      let ContinuationToken: string | undefined;
      do {
        const page = await client.send(
          new ListObjectsV2Command({ Bucket, Prefix, MaxKeys: listed, ContinuationToken }),
        );
        for (const { Key = "", LastModified } of page.Contents ?? []) {
          const digest = path.posix.basename(Key);
          const own = isBlobDigest(digest) && Key === keyOf(digest);
          if (own && LastModified !== undefined && LastModified < before) yield digest;
        }
        ContinuationToken = page.NextContinuationToken;
      } while (ContinuationToken !== undefined);
    },

    // Parts that dead processes left are for a lifecycle rule of the bucket.
    sweep: (before) => removeOlder(spoolDirectory, before),

    close: () => client.destroy(),
  };
}

async function upload(
  client: S3Client,
  Bucket: string,
  keyOf: (digest: string) => string,
  { file, digest, bytes }: Spooled,
): Promise<void> {
  const object = { Bucket, Key: keyOf(digest), ContentType: "application/octet-stream" };
  if (bytes <= singleBytesMax) {
    const Body = createReadStream(file);
    await client.send(new PutObjectCommand({ ...object, Body, ContentLength: bytes }));
    return;
  }
  const partSize = Math.max(partBytesMin, Math.ceil(bytes / partsMax));
  const params = { ...object, Body: createReadStream(file, { highWaterMark: 1024 ** 2 }) };
  // When a part fails, the parts before it are taken back.
  await new Upload({ client, params, partSize, queueSize: partsAtOnce }).done();
}

async function orUndefined<Result>(query: Promise<Result>): Promise<Result | undefined> {
  try {
    return await query;
  } catch (error) {
    if (error instanceof NoSuchKey || error instanceof NotFound) return undefined;
    throw error;
  }
}
