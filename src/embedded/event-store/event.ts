/** An event as a client proposes it. */
export type ProposedEvent = Readonly<{
  /** UUID in lower case. */
  id: string;
  type: string;
  isJson: boolean;
  data: Uint8Array;
  metadata: Uint8Array;
}>;

/** An event with its place in the log. */
export type StoredEvent = ProposedEvent &
  Readonly<{
    /** Contiguous from 1, in commit order. */
    position: bigint;
    stream: string;
    /** Contiguous from 0 within the stream; `tombstoneRevision` for the end of a tombstoned one. */
    revision: bigint;
    /** When it was stored, in units of 100 ns since 1970 (the protocol's "ticks"). */
    created: bigint;
  }>;

export type ExpectedRevision = "any" | "no_stream" | "stream_exists" | bigint;

/** Revision of a stream without events. */
export const noRevision = -1n;

/** The largest int64: the revision of a tombstone, and the `$tb` of a softly deleted stream. */
export const tombstoneRevision = 9_223_372_036_854_775_807n;

export const ticksPerMs = 10_000n;

export const metastreamOf = (stream: string): string => `$$${stream}`;

/** The stream whose metadata this stream holds; undefined when it is not a metadata stream. */
export function originalOf(stream: string): string | undefined {
  return stream.startsWith("$$") ? stream.slice(2) : undefined;
}

/** Bytes that it takes in memory. */
export function sizeOf(event: ProposedEvent): number {
  return event.data.length + event.metadata.length + 2 * event.type.length;
}

/** What counts toward the largest append: the data alone, as in EventStoreDB 24.10. */
export const countedBytes = (event: ProposedEvent): number => event.data.length;
