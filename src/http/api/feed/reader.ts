import { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import { Refusal } from "../../../platform/refusal.ts";
import { tokenNeeded } from "../../access/authenticate.ts";
import { endEvent } from "../../core/event-stream.ts";
import { type FeedHub, type FeedReader, fitsFilter } from "./hub.ts";
import { type FeedFilter, type FeedItem, itemsAfter, textFor } from "./source.ts";

export type Reading = Readonly<{
  hub: FeedHub;
  deps: Parameters<typeof itemsAfter>[0];
  filter: FeedFilter;
  /** Position that the client has got everything up to. */
  after: bigint;
  callerId: string;
  /** When the caller's authentication expires, if it does. */
  expiresAt?: Date | undefined;
  /** Checks whether the caller may still read this. @throws Refusal when not */
  mustStillMay: () => Promise<void>;
}>;

/** As long as a revoked right may go on counting everywhere else; see admission.ts. */
const rightsFreshMs = 1_000;
const pageItemsMax = 200;
/** As much as a client who takes nothing makes the process hold. */
const pageBytesMax = 256 * 1024;

/** Of one reader: a connection alone would take four times as much since Node.js 22. */
const heldBytesMax = 16 * 1024;

/**
 * One client of the feed. It hands out what the client takes and holds nothing itself: what is new lies
 * in the hub, what is older is read from the log. A client that falls behind what the hub keeps is cut
 * off with a last event, and comes back with `Last-Event-ID`.
 */
export class FeedStream extends Readable implements FeedReader {
  readonly expiresAtMs: number;
  readonly #reading: Reading;
  readonly #textOf: (item: FeedItem) => string;
  #position: bigint;
  #wanting = false;
  /** Until it has joined the hub, nothing that lies there is meant for it. */
  #working = true;
  /** Whether it has once caught up with the hub. */
  #isLive = false;
  #isOver = false;
  #rightsEpoch: number;
  #checkedAt = performance.now();
  /** What it is sent by. */
  #response: ServerResponse | undefined;

  constructor(reading: Reading) {
    super({ highWaterMark: heldBytesMax });
    this.#reading = reading;
    this.expiresAtMs = reading.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY;
    const { filter } = reading;
    const fits = fitsFilter(filter);
    this.#textOf = (item) => (fits(item) ? textFor(item, filter) : "");
    this.#position = reading.after;
    this.#rightsEpoch = reading.hub.rightsEpoch;
    this.push(`: feed\nretry: 2000\n\n`);
  }

  /** @throws Refusal 429 `feed.too_many` */
  async open(): Promise<void> {
    const { hub, callerId } = this.#reading;
    await hub.join(this, callerId);
    // The client may have gone meanwhile.
    if (this.#isOver) hub.leave(this);
    this.#working = false;
    this.wake();
  }

  override _read(): void {
    this.#wanting = true;
    this.wake();
  }

  override pipe<Destination extends NodeJS.WritableStream>(
    destination: Destination,
    options?: Readonly<{ end?: boolean }>,
  ): Destination {
    if (destination instanceof ServerResponse) this.#response = destination;
    return super.pipe(destination, options);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#isOver = true;
    this.#reading.hub.leave(this);
    done(error);
  }

  wake(): void {
    if (!this.#wanting || this.#working || this.#isOver) return;
    const { hub } = this.#reading;
    // Woken by its own reading: no event is handed out, so no rights are checked.
    if (this.#isLive && this.#position === hub.upTo) return;
    if (this.#mustQuery()) this.#work(() => this.#query());
    else if (hub.covers(this.#position)) {
      this.#isLive = true;
      while (this.#handNext(hub)) if (this.#position === hub.upTo) break;
    } else if (this.#isLive) {
      const message = "The feed was read too slowly. Go on from the id of this event.";
      this.#last("feed.too_slow", message);
    } else this.#work(() => this.#catchUp());
  }

  beat(): void {
    if (!this.#wanting || this.#working || this.#isOver) return;
    this.#work(async () => {
      await this.#query();
      if (!this.#isOver) this.#hand(": \n\n");
    });
  }

  expire(): void {
    const { code, message } = tokenNeeded();
    this.#last(code, message);
  }

  end(): void {
    this.#last("feed.closing", "The service ends. Go on from the id of this event.");
  }

  #mustQuery(): boolean {
    const isFresh = performance.now() - this.#checkedAt < rightsFreshMs;
    return !isFresh && this.#rightsEpoch !== this.#reading.hub.rightsEpoch;
  }

  async #query(): Promise<void> {
    const { hub, mustStillMay } = this.#reading;
    const { rightsEpoch } = hub;
    try {
      await mustStillMay();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.#last(error.code, error.message);
    }
    this.#rightsEpoch = rightsEpoch;
    this.#checkedAt = performance.now();
  }

  /** One page of what the hub keeps no more. */
  async #catchUp(): Promise<void> {
    const { hub, deps, filter } = this.#reading;
    // What is known now is in the read model: a whole page has all of it.
    const { upTo } = hub;
    const range = {
      after: this.#position,
      upTo,
      limit: pageItemsMax,
      bytesMax: pageBytesMax,
    };
    const { items, isWhole } = await itemsAfter(deps, filter, range);
    const last = isWhole ? upTo : (items.at(-1)?.position ?? upTo);
    const text = items.map((item) => textFor(item, filter)).join("");
    this.#position = last;
    if (text !== "" && !this.#isOver) this.#hand(text);
  }

  /** Works beside, then looks again for what there is. */
  #work(task: () => Promise<void>): void {
    this.#working = true;
    task().then(
      () => {
        this.#working = false;
        this.wake();
      },
      (error: Error) => this.destroy(error),
    );
  }

  /** @returns whether more is taken at once */
  #handNext(hub: FeedHub): boolean {
    const { text, upTo } = hub.after(this.#position, this.#textOf);
    this.#position = upTo;
    return text !== "" && this.#hand(text);
  }

  /**
   * Straight to the connection where it can: the streams between would take as long as the write does.
   *
   * @returns whether more is taken at once, which nothing requests later
   */
  #hand(text: string): boolean {
    const bytes = bytesOf(text);
    const socket = this.#socket();
    if (socket === undefined) {
      this.#wanting = this.push(bytes);
      return false;
    }
    if (socket.writableLength + bytes.length < heldBytesMax) {
      socket.write(bytes);
      return true;
    }
    this.#wanting = false;
    socket.write(bytes, (error) => {
      if (error) return;
      this.#wanting = true;
      this.wake();
    });
    return false;
  }

  /**
   * The connection, once all that was handed out before is with it, and while what is sent ends with it and so has no
   * form of its own; undefined otherwise.
   */
  #socket(): Socket | undefined {
    const response = this.#response;
    if (response === undefined || !response.headersSent || response.chunkedEncoding) return;
    const { socket } = response;
    const isHeld = this.readableLength > 0 || this.isPaused() || response.writableNeedDrain;
    return isHeld || socket === null || !socket.writable ? undefined : socket;
  }

  #last(code: string, message: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const position = String(this.#position);
    this.push(`id: ${position}\n${endEvent({ code, message, position })}`);
    this.push(null);
  }
}

/** Readers of one feed are handed the same text one after another: it is encoded once. */
function bytesOf(text: string): Buffer {
  if (encoded.text !== text) encoded = { text, bytes: Buffer.from(text) };
  return encoded.bytes;
}
let encoded = { text: "", bytes: Buffer.alloc(0) };
