import { expect } from "chai";

import type { Recorded } from "../../../src/events/core/event.ts";
import type { WorkerDeps } from "../../../src/services/core/deps.ts";
import { oldestEvents } from "../../../src/workers/webhook/history.ts";

const at = (position: number, revision: number) =>
  ({
    position: BigInt(position),
    revision: BigInt(revision),
    metadata: { occurredAt: "2026-01-02" },
  }) as Recorded;

/** Streams of events at these positions; counts how many are read. */
function storeOf(streams: Readonly<Record<string, readonly number[]>>) {
  let read = 0;
  const readStream = async function* (name: string, from = 0n) {
    for (const [revision, position] of (streams[name] ?? []).entries()) {
      if (revision < Number(from)) continue;
      read += 1;
      yield at(position, revision);
    }
  };
  const readStreamBackwards = async function* (name: string) {
    const positions = streams[name] ?? [];
    read += 1;
    yield at(positions.at(-1) ?? 0, positions.length - 1);
  };
  return {
    store: { readStream, readStreamBackwards } as unknown as WorkerDeps["store"],
    read: () => read,
  };
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

  it("are found after a position without reading what is before it", async () => {
    const { store, read } = storeOf({ long: numbers(0, 50_000), done: numbers(0, 1_000) });
    const stretch = { ...time, after: 40_000n, countMax: 10 };
    const events = await oldestEvents(["long", "done"], stretch, { store });
    expect(events.map(({ position }) => Number(position))).to.deep.equal(numbers(40_001, 10));
    expect(read()).to.be.lessThan(1_500);
  });
});
