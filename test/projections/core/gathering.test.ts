import { getEventListeners } from "node:events";
import { expect } from "chai";
import type { Batch } from "../../../src/projections/core/batch.ts";
import { Gathering } from "../../../src/projections/core/gathering.ts";
import { eventually } from "../../support/app/eventually.ts";

const batch = (after: bigint, upTo: bigint): Batch => ({ after, upTo, events: [] });

/** Listeners of a signal, and signals that `AbortSignal.any` made of it, which Node.js keeps in a set there. */
function heldBy(signal: AbortSignal): number {
  const sizes = Object.getOwnPropertySymbols(signal).map(
    (name) => Reflect.get(signal, name)?.size ?? 0,
  );
  return sizes.reduce((sum, size) => sum + size, getEventListeners(signal, "abort").length);
}

describe("gathering batches", () => {
  it("feeds those that arrive together as one", async () => {
    const fed: Batch[] = [];
    const gathering = new Gathering(
      async (each) => void fed.push(each),
      new AbortController().signal,
    );
    await gathering.add(batch(1n, 2n));
    await gathering.add(batch(2n, 5n));
    await eventually(() => fed.length > 0);
    expect(fed).to.deep.equal([batch(1n, 5n)]);
    await gathering.add(batch(5n, 6n));
    await gathering.ended();
    expect(fed).to.deep.equal([batch(1n, 5n), batch(5n, 6n)]);
  });

  it("takes what arrives while one is fed", async () => {
    const fed: Batch[] = [];
    let letGo = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const gathering = new Gathering(async (each) => {
      fed.push(each);
      await held;
    }, new AbortController().signal);
    await gathering.add(batch(1n, 2n));
    await eventually(() => fed.length === 1);
    await gathering.add(batch(2n, 3n));
    letGo();
    await gathering.ended();
    expect(fed).to.deep.equal([batch(1n, 2n), batch(2n, 3n)]);
  });

  it("waits longer after a feed, until much has come", async () => {
    const fed: number[] = [];
    const feed = async ({ events }: Batch) => void fed.push(events.length);
    const { signal } = new AbortController();
    const gathering = new Gathering(feed, signal, { betweenMs: 3_600_000 });
    const add = (length: number) => {
      const events = Array.from({ length }, () => ({}) as Batch["events"][number]);
      return gathering.add({ after: 1n, upTo: 2n, events });
    };
    await add(1);
    await eventually(() => fed.length === 1);
    await add(1);
    await add(400);
    expect(fed).to.deep.equal([1, 401]);
  });

  it("lets the other feed wait while too much is kept", async () => {
    const events = Array.from({ length: 401 }, () => ({}) as Batch["events"][number]);
    let fed = 0;
    const gathering = new Gathering(async (each) => {
      fed += each.events.length;
    }, new AbortController().signal);
    await gathering.add({ after: 1n, upTo: 402n, events });
    expect(fed).to.equal(401);
  });

  it("reports a failure of the feed", async () => {
    const fail = () => Promise.reject(new Error("no such table"));
    let failed = 0;
    const onFailure = (): void => {
      failed += 1;
    };
    const gathering = new Gathering(fail, new AbortController().signal, { onFailure });
    await gathering.add(batch(1n, 2n));
    await gathering.ended();
    expect(failed).to.equal(1);
    expect(() => gathering.mustGoOn()).to.throw("no such table");
    await expect(gathering.add(batch(2n, 3n))).to.be.rejectedWith("no such table");
  });

  it("leaves nothing with the signal of its end for each wait", async () => {
    const { signal } = new AbortController();
    const gathering = new Gathering(async () => undefined, signal, { betweenMs: 0 });
    const made: number[] = [];
    for (let n = 0n; n < 4n; n += 1n) {
      await gathering.add(batch(n, n + 1n));
      await gathering.ended();
      made.push(heldBy(signal));
    }
    expect(new Set(made).size, made.join()).to.equal(1);
  });

  it("drops what waits when it is over", async () => {
    const abort = new AbortController();
    const fed: Batch[] = [];
    const gathering = new Gathering(async (each) => void fed.push(each), abort.signal);
    await gathering.add(batch(1n, 2n));
    abort.abort();
    await gathering.ended();
    expect(fed).to.deep.equal([]);
  });
});
