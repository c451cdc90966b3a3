import { PassThrough } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect } from "chai";

import type { SubscriptionItem } from "../../../src/platform/event-store/event-store.ts";
import { type Batch, batches } from "../../../src/projections/core/batch.ts";
import { history } from "../../support/app/history.ts";
import { sent } from "../../support/package/parcel.ts";

const log = history(...Array.from({ length: 10 }, (_, n) => ["parcel-1", sent(`${n}`)] as const));
const items: readonly SubscriptionItem[] = log.map((event) => ({ kind: "event", event }));

async function* arriving(...given: readonly SubscriptionItem[]) {
  yield* given;
}

async function all(source: AsyncIterable<SubscriptionItem>, eventsMax: number): Promise<Batch[]> {
  const taken: Batch[] = [];
  for await (const batch of batches(source, 0n, eventsMax)) taken.push(batch);
  return taken;
}

describe("cutting a subscription into batches", () => {
  it("leaves no hole and no overlap, and none larger than allowed", async () => {
    const taken = await all(arriving(...items), 4);
    expect(taken.flatMap(({ events }) => events)).to.deep.equal(log);
    expect(Math.max(...taken.map(({ events }) => events.length))).to.be.at.most(4);
    let position = 0n;
    for (const { after, upTo, events } of taken) {
      expect(after).to.equal(position);
      expect(upTo).to.equal(events.at(-1)?.position);
      position = upTo;
    }
  });

  it("gives a single event at once", async () => {
    let end: (() => void) | undefined;
    async function* one() {
      yield items[0]!;
      await new Promise<void>((resolve) => {
        end = resolve;
      });
    }
    const taking = batches(one(), 0n, 100);
    const { value } = await taking.next();
    expect((value as Batch).events).to.deep.equal([log[0]]);
    end?.();
    expect((await taking.next()).done).to.equal(true);
  });

  it("takes events together that arrive in one piece", async () => {
    const arrived = new PassThrough({ objectMode: true });
    const taking = batches(arrived, 0n, 100);
    const first = taking.next();
    // The batch waits for its first event by now.
    await nextTurn();
    for (const item of items.slice(0, 3)) arrived.write(item);
    expect(((await first).value as Batch).events).to.deep.equal(log.slice(0, 3));
    arrived.end();
    expect((await taking.next()).done).to.equal(true);
  });

  it("moves on past what the filter left out", async () => {
    const source = arriving(items[0]!, { kind: "caughtUp" }, { kind: "checkpoint", position: 99n });
    const taken = await all(source, 100);
    expect(taken.at(-1)?.upTo).to.equal(99n);
    expect(taken.flatMap(({ events }) => events)).to.deep.equal([log[0]]);
  });

  it("reads ahead no further than one batch", async () => {
    let given = 0;
    async function* counted() {
      for (const item of items) {
        given += 1;
        yield item;
      }
    }
    const taking = batches(counted(), 0n, 3);
    await taking.next();
    await new Promise((resolve) => setImmediate(resolve));
    expect(given).to.be.at.most(7);
    await taking.return(undefined);
  });

  it("gives what arrived before a failure, then fails", async () => {
    async function* failing() {
      yield items[0]!;
      throw new Error("the line is dead");
    }
    const taken: Batch[] = [];
    const take = async () => {
      for await (const batch of batches(failing(), 0n, 10)) taken.push(batch);
    };
    await expect(take()).to.be.rejectedWith("the line is dead");
    expect(taken.flatMap(({ events }) => events)).to.deep.equal([log[0]]);
  });
});
