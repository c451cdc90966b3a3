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
  async apply(tx, event, used) {
    applied.push(event.position);
    await parcelsInto("parcel_ahead").apply(tx, event, used);
  },
};
const nothing = (): void => undefined;
const log = { info: nothing, warn: nothing, error: nothing };
const deps = { db, store, projections: [slow, ahead], context, log };

const positionOf = async (name: string) =>
  (await readCheckpoints(db)).find((row) => row.name === name)?.position;

describe("a read model that got further than its feed", () => {
  const events: Recorded[] = [];
  before(async () => {
    for (const name of ["Anna", "Boris", "Clara", "Dora"])
      await append(store, "parcel-1", sent(name));
    for await (const event of store.readAll()) events.push(event);
  });
  beforeEach(async () => {
    for (const projection of deps.projections) await reset(db, projection);
    applied.length = 0;
  });

  const at = (index: number): bigint => events[index]?.position ?? -1n;
  const part = (from: number, to: number) => ({
    after: from === 0 ? -1n : at(from - 1),
    upTo: at(to - 1),
    events: events.slice(from, to),
  });

  it("keeps its place and takes no event twice", async () => {
    await db("projection_checkpoint")
      .where({ name: ahead.name })
      .update({ position: at(2) });
    await feed(deps, "answers", part(0, 2));
    expect([await positionOf(slow.name), await positionOf(ahead.name)]).to.deep.equal([
      at(1),
      at(2),
    ]);
    await feed(deps, "answers", part(2, 4));
    expect(applied).to.deep.equal([at(3)]);
    expect([await positionOf(slow.name), await positionOf(ahead.name)]).to.deep.equal([
      at(3),
      at(3),
    ]);
  });

  it("applies a batch to each by itself where their one position cannot be moved", async () => {
    await db("projection_feed").where({ name: "answers" }).update({ position: -1 });
    const add = "alter table projection_feed add constraint stays check (position <> ";
    await db.raw(`${add} ${at(1)}) not valid`);
    try {
      await feed(deps, "answers", part(0, 2));
    } finally {
      await db.raw("alter table projection_feed drop constraint stays");
    }
    const own = db("projection_checkpoint").whereNotNull("position").pluck("name");
    expect(await own).to.have.members([slow.name, ahead.name]);
    expect(await positionOf(slow.name)).to.equal(at(1));
    expect(await db("parcel").pluck("sent_to")).to.deep.equal(["Boris"]);
  });

  it("waits for the next try where a store is away when it is fed by itself", async () => {
    const failures = [new Error("not together"), new StoreUnavailable("away")];
    const failing: Projection = {
      ...ahead,
      async apply(tx, event, used) {
        const failure = failures.shift();
        if (failure !== undefined) throw failure;
        await ahead.apply(tx, event, used);
      },
    };
    const own = { ...deps, projections: [failing] };
    await expect(feed(own, "answers", part(0, 1))).to.be.rejectedWith(StoreUnavailable);
    expect(applied).to.deep.equal([]);
    await feed(own, "answers", part(0, 1));
    expect(applied).to.deep.equal([at(0)]);
  });

  it("takes nothing again when a batch comes again", async () => {
    await feed(deps, "answers", part(0, 4));
    await feed(deps, "answers", part(0, 2));
    await feed(deps, "answers", part(2, 4));
    expect(applied).to.deep.equal(events.map(({ position }) => position));
    expect(await positionOf(ahead.name)).to.equal(at(3));
  });
});
