import { expect } from "chai";

import type { Recorded } from "../../../src/events/core/event.ts";
import type { WorkerDeps } from "../../../src/workers/core/deps.ts";
import { oldestEvents } from "../../../src/workers/webhook/history.ts";

const at = (position: number) =>
  ({ position: BigInt(position), metadata: { occurredAt: "2026-01-02" } }) as Recorded;

/** Streams of events at these positions; counts how many are read. */
function storeOf(streams: Readonly<Record<string, readonly number[]>>) {
  let read = 0;
  const readStream = async function* (name: string) {
    for (const position of streams[name] ?? []) {
      read += 1;
      yield at(position);
    }
  };
  return { store: { readStream } as unknown as WorkerDeps["store"], read: () => read };
}

const numbers = (from: number, count: number, step = 1) =>
  Array.from({ length: count }, (_, n) => from + n * step);

describe("the oldest events of some streams", () => {
  const time = { from: "2026-01-01", to: "2026-02-01" };

  it("are read in the order of the log, and nothing much newer than they", async () => {
    const { store, read } = storeOf({
      odd: numbers(1, 50_000, 2),
      even: numbers(0, 50_000, 2),
      late: numbers(200_000, 50_000),
    });
    const names = ["odd", "even", "late", "even"];
    const events = await oldestEvents(names, { ...time, countMax: 10 }, { store });
    expect(events.map(({ position }) => Number(position))).to.deep.equal(numbers(0, 10));
    expect(read()).to.be.lessThan(3_000);
  });

  it("begin after a position and end at one, within the time", async () => {
    const { store } = storeOf({ a: numbers(0, 100, 2), b: numbers(1, 100, 2) });
    const stretch = { ...time, after: 3n, last: 7n, countMax: 10 };
    const events = await oldestEvents(["a", "b"], stretch, { store });
    expect(events.map(({ position }) => Number(position))).to.deep.equal([4, 5, 6, 7]);
    const earlier = { ...time, to: "2026-01-02", countMax: 10 };
    expect(await oldestEvents(["a", "b"], earlier, { store })).to.deep.equal([]);
  });
});
