import { randomUUID } from "node:crypto";
import { expect } from "chai";

import type { Order } from "../../../src/embedded/event-store/batch.ts";
import type { ProposedEvent } from "../../../src/embedded/event-store/event.ts";
import { StoreFailure } from "../../../src/embedded/event-store/failure.ts";
import { OrderQueue } from "../../../src/embedded/event-store/order-queue.ts";
import { RecentPlaces } from "../../../src/embedded/event-store/recent-places.ts";
import { StreamHeads } from "../../../src/embedded/event-store/stream-heads.ts";

describe("where events were stored lately", () => {
  const place = (id: string, revision: bigint, stream = "test-1") => ({
    stream,
    id,
    revision,
    position: revision,
  });

  it("is known by stream and id, for so many events", () => {
    const places = new RecentPlaces(3);
    for (const [n, id] of ["a", "b", "c", "d"].entries()) places.add(place(id, BigInt(n)));
    expect(places.find("test-1", "a")).to.equal(undefined);
    expect(places.find("test-1", "b")?.revision).to.equal(1n);
    expect(places.find("test-1", "d")?.revision).to.equal(3n);
    expect(places.find("test-2", "d")).to.equal(undefined);
  });

  it("is the newest place of an id, also after the older one was forgotten", () => {
    const places = new RecentPlaces(2);
    places.add(place("a", 0n));
    places.add(place("a", 1n));
    places.add(place("b", 2n));
    expect(places.find("test-1", "a")?.revision).to.equal(1n);
    places.add(place("c", 3n));
    expect(places.find("test-1", "a")).to.equal(undefined);
  });

  it("is nothing once cleared", () => {
    const places = new RecentPlaces(2);
    places.add(place("a", 0n));
    places.clear();
    expect(places.find("test-1", "a")).to.equal(undefined);
    places.add(place("b", 1n));
    expect(places.find("test-1", "b")?.revision).to.equal(1n);
  });
});

describe("the heads of streams in memory", () => {
  const head = (revision: bigint) => ({ revision, metadata: undefined });

  it("keep streams that are read and drop the others", () => {
    const heads = new StreamHeads();
    heads.set("kept", head(1n));
    heads.set("lost", head(2n));
    for (let n = 0; n < 120_000; n += 1) {
      heads.set(`test-${n}`, head(0n));
      if (n % 10_000 === 0) expect(heads.get("kept")?.revision).to.equal(1n);
    }
    expect(heads.get("lost")).to.equal(undefined);
    expect(heads.get("test-119999")?.revision).to.equal(0n);
  });

  it("give the newest revision, whichever generation the stream was in", () => {
    const heads = new StreamHeads();
    heads.set("test", head(1n));
    for (let n = 0; n < 60_000; n += 1) heads.set(`other-${n}`, head(0n));
    heads.set("test", head(2n));
    expect(heads.get("test")?.revision).to.equal(2n);
    heads.clear();
    expect(heads.get("test")).to.equal(undefined);
  });
});

describe("the queue of appends", () => {
  const later = Date.now() + 3_600_000;
  const order = (bytes: number): Order => {
    const data = new Uint8Array(bytes);
    const metadata = new Uint8Array();
    const event: ProposedEvent = { id: randomUUID(), type: "", isJson: false, data, metadata };
    return { stream: "test-1", expected: "any", work: { kind: "append", events: [event] } };
  };

  it("gives batches in order, bounded by count and by bytes", () => {
    const queue = new OrderQueue();
    for (let n = 0; n < 1_500; n += 1) queue.push(order(10), later, () => undefined);
    expect(queue.takeBatch()).to.have.length(1_000);
    expect(queue.takeBatch()).to.have.length(500);
    expect(queue.isEmpty).to.equal(true);

    for (let n = 0; n < 20; n += 1) queue.push(order(1_000_000), later, () => undefined);
    expect(queue.takeBatch()).to.have.length(8);
    expect(queue.takeAll()).to.have.length(12);
    expect(queue.takeBatch()).to.have.length(0);
  });

  it("refuses what would not fit into memory, and takes more once there is room", () => {
    const queue = new OrderQueue();
    const push = () => queue.push(order(1_000_000), later, () => undefined);
    expect(() => {
      for (let n = 0; n < 100; n += 1) push();
    }).to.throw(StoreFailure, "Too many");
    queue.takeBatch();
    push();
  });

  it("answers what is late and does not give it out", () => {
    const queue = new OrderQueue();
    const outcomes: unknown[] = [];
    queue.push(order(1), Date.now() - 1, (outcome) => outcomes.push(outcome));
    queue.push(order(1), later, () => undefined);
    expect(queue.takeBatch()).to.have.length(1);
    expect(outcomes).to.have.length(1);
    expect((outcomes[0] as StoreFailure).failure.kind).to.equal("timeout");
  });
});
