import { tombstoneRevision } from "./event.ts";

/** What a stream's metadata says about which of its events are still there. */
export type Retention = Readonly<{
  /** Only the newest so many events (`$maxCount`). */
  countMax: bigint | undefined;
  /** Only events younger than this (`$maxAge`). */
  ageMaxSeconds: bigint | undefined;
  /** Only events from this revision on (`$tb`); `tombstoneRevision` means softly deleted. */
  truncateBefore: bigint;
}>;

const keepAll: Retention = {
  countMax: undefined,
  ageMaxSeconds: undefined,
  truncateBefore: 0n,
};

/** A metadata stream keeps its newest event only. */
export const keepNewest: Retention = { ...keepAll, countMax: 1n };

/** Metadata that is not a JSON object counts as none, as it does in EventStoreDB. */
export function retentionOf(metadata: Uint8Array | undefined): Retention {
  const fields = parse(metadata);
  return {
    countMax: integer(fields["$maxCount"]),
    ageMaxSeconds: integer(fields["$maxAge"]),
    truncateBefore: integer(fields["$tb"]) ?? 0n,
  };
}

export function isSoftDeleted(metadata: Uint8Array | undefined): boolean {
  return retentionOf(metadata).truncateBefore === tombstoneRevision;
}

/** Written by hand: a JSON number made from a JavaScript one would be off by one. */
export const softDeleteMetadata = Buffer.from(`{"$tb":${tombstoneRevision}}`);

/** The same metadata, with the stream beginning again at `revision`. */
export function undeleteMetadata(metadata: Uint8Array | undefined, revision: bigint): Uint8Array {
  return Buffer.from(JSON.stringify({ ...parse(metadata), $tb: Number(revision) }));
}

function parse(metadata: Uint8Array | undefined): Readonly<Record<string, unknown>> {
  if (metadata === undefined || metadata.length === 0) return {};
  try {
    const value: unknown = JSON.parse(Buffer.from(metadata).toString("utf8"));
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? { ...value } : {};
  } catch {
    return {};
  }
}

function integer(value: unknown): bigint | undefined {
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0) return undefined;
  // The largest int64 does not fit a JavaScript number and arrives rounded up.
  return value >= Number(tombstoneRevision) ? tombstoneRevision : BigInt(value);
}
