import { expect } from "chai";
import type { Recorded } from "../../../src/events/core/event.ts";
import { StoreUnavailable } from "../../../src/platform/event-store/event-store.ts";
import { readCheckpoints } from "../../../src/projections/core/checkpoint.ts";
import { feed } from "../../../src/projections/core/feed.ts";
import type { Projection } from "../../../src/projections/core/projection.ts";
import { context, reset } from "../../support/app/projection.ts";
import { append, parcelsInto, sent } from "../../support/package/parcel.ts";
import { testDatabase } from "../../support/store/database.ts";
import { testEventStore } from "../../support/store/event-store.ts";

const { db } = await testDatabase();
const { store } = await testEventStore();

const applied: bigint[] = [];
const slow = parcelsInto("parcel");
const ahead: Projection = {
  ...parcelsInto("parcel_ahead"),
  async apply(tx, events, used) {
    applied.push(...events.map(({ position }) => position));
    await parcelsInto("parcel_ahead").apply(tx, events, used);
  },
};
const nothing = (): void => undefined;
const log = { info: nothing, warn: nothing, error: nothing };
const deps = { db, store, projections: [slow, ahead], context, log };

const positionOf = async (name: string) =>
  (await readCheckpoints(db)).find((row) => row.name === name)?.position;

describe("the feed of read models", () => {
  const events: Recorded[] = [];
  before(async () => {
    for (const name of ["Anna", "Boris", "Clara", "Dora"])
      await append(store, "parcel-1", sent(name));
    for await (const event of store.readAll()) events.push(event);
  });
  beforeEach(async () => {
    for (const projection of deps.projections) await reset(db, projection);
    await db("projection_feed").update({ position: -1 });
    applied.length = 0;
  });

  const at = (index: number): bigint => events[index]?.position ?? -1n;
  const part = (from: number, to: number) => ({
    after: from === 0 ? -1n : at(from - 1),
    upTo: at(to - 1),
    events: events.slice(from, to),
  });

  it("gives no event twice to one that got further", async () => {
    await db("projection_checkpoint")
      .where({ name: ahead.name })
      .update({ position: at(2) });
    await feed(deps, part(0, 2));
    expect([await positionOf(slow.name), await positionOf(ahead.name)]).to.deep.equal([
      at(1),
      at(2),
    ]);
    await feed(deps, part(2, 4));
    expect(applied).to.deep.equal([at(3)]);
    expect([await positionOf(slow.name), await positionOf(ahead.name)]).to.deep.equal([
      at(3),
      at(3),
    ]);
  });

  it("stops right before the event that it cannot take, and the others go on", async () => {
    const failing: Projection = {
      ...ahead,
      async apply(tx, all, used) {
        if (all.some(({ position }) => position === at(2))) throw new Error("not this one");
        await ahead.apply(tx, all, used);
      },
    };
    await feed({ ...deps, projections: [slow, failing] }, part(0, 4));
    expect(applied).to.deep.equal([at(0), at(1)]);
    expect([await positionOf(slow.name), await positionOf(ahead.name)]).to.deep.equal([
      at(3),
      at(1),
    ]);
  });

  it("waits for the next try where a store is away", async () => {
    const failures: Error[] = [new StoreUnavailable("away")];
    const failing: Projection = {
      ...ahead,
      async apply(tx, all, used) {
        const failure = failures.shift();
        if (failure !== undefined) throw failure;
        await ahead.apply(tx, all, used);
      },
    };
    const own = { ...deps, projections: [failing] };
    await expect(feed(own, part(0, 1))).to.be.rejectedWith(StoreUnavailable);
    expect(applied).to.deep.equal([]);
    await feed(own, part(0, 1));
    expect(applied).to.deep.equal([at(0)]);
  });

  it("takes nothing again when a batch comes again", async () => {
    await feed(deps, part(0, 4));
    await feed(deps, part(0, 2));
    await feed(deps, part(2, 4));
    expect(applied).to.deep.equal(events.map(({ position }) => position));
    expect(await positionOf(ahead.name)).to.equal(at(3));
  });
});
