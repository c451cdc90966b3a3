import { expect } from "chai";
import type { Knex } from "knex";

import type { Recorded } from "../../../src/events/core/event.ts";
import type { EventStore } from "../../../src/platform/event-store/event-store.ts";
import { pages as pagesOf, takenPages } from "../../../src/projections/core/build-page.ts";
import { beforeEverything } from "../../../src/projections/core/checkpoint.ts";
import { context } from "../../support/app/projection.ts";
import { parcelsInto } from "../../support/package/parcel.ts";

describe("pages of the log that read models take", () => {
  const event = { type: "ParcelSent", position: 1n } as Recorded;
  async function* pages() {
    for (let page = 0; page < 2; page += 1) yield [event];
  }

  it("come to each read model one after another, and to others before the slowest", async () => {
    const calls: string[] = [];
    let others: () => void = () => undefined;
    const othersAreDone = new Promise<void>((resolve) => {
      others = resolve;
    });
    let begun = 0;
    // The first call is that of the slow read model, the third that of the fast one for its second page.
    const transaction = async (): Promise<void> => {
      begun += 1;
      const call = begun;
      calls.push(`${call} begins`);
      if (call === 1) await othersAreDone;
      if (call === 3) others();
      calls.push(`${call} ends`);
    };
    const next = { transaction } as unknown as Knex;
    const remaining = [parcelsInto("slow"), parcelsInto("fast")];
    let taken = 0;
    for await (const _ of takenPages({ deps: { context }, next, remaining }, pages())) taken += 1;
    expect(taken).to.equal(2);
    expect(calls).to.have.length(8);
    expect(calls.indexOf("1 ends")).to.be.lessThan(calls.indexOf("4 begins"));
  }).timeout(10_000);

  it("end where their texts are long together", async () => {
    const long = { ...event, data: { parts: [{ text: "x".repeat(1024 ** 2) }] } };
    const store = {
      async *readAll() {
        for (let n = 0; n < 10; n += 1) yield long;
      },
    } as unknown as EventStore;
    const sizes: number[] = [];
    for await (const page of pagesOf(store, beforeEverything)) sizes.push(page.length);
    expect(sizes).to.deep.equal([8, 2]);
  });
});
