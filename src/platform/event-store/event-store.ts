import type { NewEvent, Recorded } from "../../events/core/event.ts";

/** What the writer believes about the stream: nothing in it, anything, or exactly this last revision. */
export type ExpectedRevision = "none" | "any" | bigint;

/** Another writer appended to the stream first. */
export class RevisionConflict extends Error {
  override readonly name = "RevisionConflict";
}

/** The store cannot be reached or does not answer in time; whether an append happened is unknown. */
export class StoreUnavailable extends Error {
  override readonly name: string = "StoreUnavailable";
}

/** The store refuses the user of the service, or what it requests, until an operator changes that. */
export class StoreDenied extends StoreUnavailable {
  override readonly name = "StoreDenied";
}

/** The server is not one that this release works with; asking again does not help. */
export class UnsupportedServer extends Error {
  override readonly name = "UnsupportedServer";
}

export type Appended = Readonly<{
  /** Position of the last event of the append. */
  position: bigint;
  /** Revision of the last event of the append. */
  revision: bigint;
}>;

/** What a subscription gives: an event, or the news that nothing up to `position` was missed. */
export type SubscriptionItem =
  | Readonly<{ kind: "event"; event: Recorded }>
  /** All of the log up to here was read; events the filter left out included. */
  | Readonly<{ kind: "checkpoint"; position: bigint }>
  /** From here on items arrive as they are written. */
  | Readonly<{ kind: "caughtUp" }>;

export type ReadAllOptions = Readonly<{
  after?: bigint;
  countMax?: number;
  /** Gives events of other applications as well, each with `isForeign`. */
  withForeign?: boolean;
  /** With them, up to here, what lies in streams of the server and is of no type of its own. */
  systemStreamsUpTo?: bigint;
}>;

export type SubscribeOptions = Readonly<{
  after?: bigint | undefined;
  signal: AbortSignal;
  /** Gives events of other applications as well, each with `isForeign`; else they count as read. */
  withForeign?: boolean;
  /** Called when the store does not answer any more, with why, and without anything once it does again. */
  onOutage?: (error?: Error) => void;
}>;

export type EventStore = Readonly<{
  /**
   * Appends all events or none. Repeating an append with the same event ids and the same expected
   * revision answers as the first time and writes nothing.
   *
   * Answers within five seconds.
   *
   * @throws RevisionConflict, StoreUnavailable, Refusal 422 `event.too_large`, `event.text_malformed`
   */
  append: (
    stream: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
  ) => Promise<Appended>;
  /**
   * Events of a stream in order, from `fromRevision` (0), at most `countMax` of them; nothing for a
   * stream that does not exist.
   */
  readStream: (stream: string, fromRevision?: bigint, countMax?: number) => AsyncIterable<Recorded>;
  /** Events of a stream, newest first. */
  readStreamBackwards: (stream: string, countMax?: number) => AsyncIterable<Recorded>;
  /**
   * The log after `after` (from the start when undefined). Left out are events of the server itself, whose stream or
   * type begins with `$`, and of other applications.
   */
  readAll: (options?: ReadAllOptions) => AsyncIterable<Recorded>;
  /** Position of the newest event that is not the server's own; undefined for an empty log. */
  head: () => Promise<bigint | undefined>;
  /** Position of the newest event of all, system events included; undefined for an empty log. */
  end: () => Promise<bigint | undefined>;
  /**
   * Catch-up then live, without loss or repetition, of what `readAll` gives. Resubscribes by itself
   * after an outage, from the last item given. Ends when the signal aborts.
   *
   * @throws StoreDenied, UnsupportedServer
   */
  subscribeAll: (options: SubscribeOptions) => AsyncIterable<SubscriptionItem>;
  /** How far the clock of the store is ahead of that of this machine, in milliseconds, as the last appends show it. */
  clockAheadMs: () => number;
  /**
   * @throws StoreUnavailable when the store does not answer within the limit; UnsupportedServer, as every other
   *   call does then
   */
  ping: (timeoutMs: number) => Promise<void>;
  close: () => Promise<void>;
}>;
