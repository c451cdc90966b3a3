import type { Connection } from "./connection.ts";
import { streamPages } from "./read.ts";

const measureEveryMs = 60_000;

/** An append, and when it was called by the clock of this machine. */
type Noted = Readonly<{ stream: string; revision: bigint; begunAt: number }>;

/** How far the clock of the event store is ahead of that of this machine, as appends of this process show it. */
export class StoreClock {
  #aheadMs = 0;
  #nextAt = 0;

  constructor(readonly onMeasured: (aheadMs: number) => void = () => undefined) {}

  get aheadMs(): number {
    return this.#aheadMs;
  }

  /**
   * Reads, once a minute, when an event was stored that this process has just appended. Between the call and its answer
   * no clock is known to be wrong.
   */
  note(connection: Connection, { stream, revision, begunAt }: Noted): void {
    const answeredAt = Date.now();
    if (answeredAt < this.#nextAt && answeredAt > this.#nextAt - measureEveryMs) return;
    this.#nextAt = answeredAt + measureEveryMs;
    const read = connection.giving((client) =>
      streamPages(client, false, { stream, from: revision, countMax: 1 }),
    );
    void (async () => {
      for await (const [event] of read) {
        const storedAt = event?.recordedAt.getTime() ?? begunAt;
        const aheadMs =
          storedAt < begunAt ? storedAt - begunAt : Math.max(0, storedAt - answeredAt);
        this.#aheadMs = aheadMs;
        this.onMeasured(aheadMs);
      }
    })().catch(() => undefined);
  }
}
