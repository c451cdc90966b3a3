import type { Recorded } from "../../events/core/event.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import { invariant } from "../../platform/invariant.ts";
import { type Data, saidAfter } from "../audit/change.ts";

/** Streams that are read side by side; one that is asked for again later starts afresh. */
const cursorsMax = 20;

type Cursor = {
  events: AsyncIterator<Recorded>;
  /** All fields that were ever said in the stream, as they were said last. */
  said: Data;
  revision: bigint;
};

/** Reads events of many streams, each in its own order, with what was said before them. */
export class StreamReader {
  readonly #store: EventStore;
  readonly #cursors = new Map<string, Cursor>();

  constructor(store: EventStore) {
    this.#store = store;
  }

  async read(
    stream: string,
    revision: bigint,
  ): Promise<Readonly<{ event: Recorded; before: Data }>> {
    const cursor = await this.#cursorBefore(stream, revision);
    for (;;) {
      const { done, value } = await cursor.events.next();
      invariant(done !== true, `event ${revision} of ${stream} is in the log`);
      const event: Recorded = value;
      cursor.revision = event.revision;
      const before = cursor.said;
      cursor.said = saidAfter(before, event);
      if (event.revision === revision) return { event, before };
    }
  }

  async close(): Promise<void> {
    for (const stream of [...this.#cursors.keys()]) await this.#drop(stream);
  }

  async #cursorBefore(stream: string, revision: bigint): Promise<Cursor> {
    const known = this.#cursors.get(stream);
    if (known !== undefined && known.revision < revision) {
      // Moved to the end: the first of the map is the one not used for longest.
      this.#cursors.delete(stream);
      this.#cursors.set(stream, known);
      return known;
    }
    if (known !== undefined) await this.#drop(stream);
    const [oldest] = this.#cursors.keys();
    if (this.#cursors.size >= cursorsMax && oldest !== undefined) await this.#drop(oldest);
    const events = this.#store.readStream(stream)[Symbol.asyncIterator]();
    const cursor = { events, said: {}, revision: -1n };
    this.#cursors.set(stream, cursor);
    return cursor;
  }

  async #drop(stream: string): Promise<void> {
    const cursor = this.#cursors.get(stream);
    this.#cursors.delete(stream);
    await cursor?.events.return?.();
  }
}
