import type { Readable } from "node:stream";

/** SHA-256 of the content, in lower case hex: the name a blob is stored under. */
export type BlobDigest = string;

export const isBlobDigest = (text: string): boolean => /^[0-9a-f]{64}$/.test(text);

/** Both ends included. */
export type BlobRange = Readonly<{ first: number; last: number }>;

export type BlobInfo = Readonly<{ bytes: number }>;

/** Content on the disk of this machine that is complete, synced, and known by its digest. */
export type Spooled = Readonly<{ file: string; digest: BlobDigest; bytes: number }>;

/**
 * Where blobs are kept, by their content: a directory or S3. What is there is whole; it appears in
 * one step and never changes.
 */
export type BlobStorage = Readonly<{
  /** Where on this machine content is gathered until its digest is known. */
  spoolDirectory: string;
  /** Takes the file over and answers when the content survives a crash; what is there stays. */
  publish: (spooled: Spooled) => Promise<void>;
  stat: (digest: BlobDigest) => Promise<BlobInfo | undefined>;
  /** Destroying the stream frees what it holds. @throws BlobMissing */
  read: (digest: BlobDigest, range?: BlobRange) => Promise<Readable>;
  /** What is not there is gone already. */
  remove: (digest: BlobDigest) => Promise<void>;
  /** All that was published before a moment, in no order, a bounded number in memory at a time. */
  list: (before: Date) => AsyncIterable<BlobDigest>;
  /** Frees what dead processes left half-way, when it is older than the moment. */
  sweep: (before: Date) => Promise<void>;
  close: () => void;
}>;

/** Something refers to content that the store does not have: lost, or taken away by hand. */
export class BlobMissing extends Error {
  override readonly name = "BlobMissing";

  constructor(readonly digest: BlobDigest) {
    super(`There is no blob ${digest}`);
  }
}

/** `ab/cd/abcd…`: 65,536 directories hold tens of millions of files in reasonable numbers each. */
export function blobPath(digest: BlobDigest): string {
  if (!isBlobDigest(digest)) throw new Error("Not a blob's digest");
  return `${digest.slice(0, 2)}/${digest.slice(2, 4)}/${digest}`;
}
