import { randomUUID } from "node:crypto";
import { expect } from "chai";

import type { StoredEvent } from "../../../src/embedded/event-store/event.ts";
import { Tail } from "../../../src/embedded/event-store/tail.ts";

function event(position: bigint, bytes = 10): StoredEvent {
  const data = new Uint8Array(bytes);
  const proposed = { id: randomUUID(), type: "Tested", isJson: false, data, metadata: data };
  return { ...proposed, position, stream: "test-1", revision: position, created: 0n };
}

function filled(from: bigint, count: number, bytes?: number): Tail {
  const tail = new Tail();
  tail.reset(from);
  for (let n = 1n; n <= BigInt(count); n += 1n) tail.push(event(from + n, bytes));
  return tail;
}

const positions = (events: readonly StoredEvent[] | undefined) =>
  events?.map(({ position }) => position);

describe("the tail of the log in memory", () => {
  it("gives what follows a position, up to the limit", () => {
    const tail = filled(0n, 5);
    expect(tail.head).to.equal(5n);
    expect(positions(tail.after(0n, 2))).to.deep.equal([1n, 2n]);
    expect(positions(tail.after(3n, 10))).to.deep.equal([4n, 5n]);
    expect(positions(tail.after(5n, 10))).to.deep.equal([]);
    expect(positions(tail.after(900n, 10))).to.deep.equal([]);
  });

  it("is empty at first, and knows where the log ends", () => {
    const tail = filled(7n, 0);
    expect(tail.head).to.equal(7n);
    expect(tail.after(7n, 1)).to.deep.equal([]);
    expect(tail.after(6n, 1)).to.equal(undefined);
  });

  it("returns undefined when it does not hold the next event any more", () => {
    const tail = filled(100n, 30_000);
    expect(tail.head).to.equal(30_100n);
    expect(tail.after(100n, 1)).to.equal(undefined);
    expect(tail.after(10_000n, 1)).to.equal(undefined);
    expect(positions(tail.after(20_000n, 1))).to.deep.equal([20_001n]);
    expect(positions(tail.after(30_099n, 5))).to.deep.equal([30_100n]);
  });

  it("gives all it holds in order after it went round", () => {
    const tail = filled(0n, 45_000);
    const held = positions(tail.after(26_000n, 50_000));
    expect(held).to.deep.equal(Array.from({ length: 19_000 }, (_, n) => BigInt(26_001 + n)));
  });

  it("holds fewer large events", () => {
    const tail = filled(0n, 100, 500_000);
    expect(tail.after(50n, 1)).to.equal(undefined);
    expect(positions(tail.after(90n, 1))).to.deep.equal([91n]);
  });

  it("forgets everything when the log is read anew", () => {
    const tail = filled(0n, 10);
    tail.reset(12n);
    expect(tail.after(10n, 1)).to.equal(undefined);
    expect(tail.after(12n, 1)).to.deep.equal([]);
    tail.push(event(13n));
    expect(positions(tail.after(12n, 9))).to.deep.equal([13n]);
  });
});
