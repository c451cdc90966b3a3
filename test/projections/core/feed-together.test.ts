import { expect } from "chai";
import type { Knex } from "knex";

import type { Recorded } from "../../../src/events/core/event.ts";
import { openPostgres } from "../../../src/platform/postgres.ts";
import { auditEntryProjection } from "../../../src/projections/audit/entry.ts";
import { lockFeed, readCheckpoints } from "../../../src/projections/core/checkpoint.ts";
import { feeder } from "../../../src/projections/core/feed-together.ts";
import type { Projection } from "../../../src/projections/core/projection.ts";
import { defineRowProjection } from "../../../src/projections/core/row-projection.ts";
import { tableOf } from "../../../src/projections/core/writes.ts";
import { eventually } from "../../support/app/eventually.ts";
import { history } from "../../support/app/history.ts";
import { noEventStore, reset, rowsOf } from "../../support/app/projection.ts";
import { parcelEvents, parcelsInto, received, sent } from "../../support/package/parcel.ts";
import { testDatabase } from "../../support/store/database.ts";

type Row = Readonly<{ id: string; sent_to: string; times: number }>;
const table = tableOf<Row>({ name: "parcel_row", key: ["id"] });

/** Counts in SQL how often an event was applied. */
const rowsProjection = defineRowProjection({
  name: "parcel_row",
  version: 1,
  tables: ["parcel_row"],
  create: (tx) =>
    tx.schema.createTable("parcel_row", (made) => {
      made.text("id").primary();
      made.text("sent_to");
      made.integer("times").defaultTo(0);
    }),
  events: parcelEvents,
  handlers: {
    ParcelSent: (rows, { position, data }) =>
      rows.put(table, { id: String(position), sent_to: data.to }),
    ParcelReceived: async (rows) => {
      await (await rows.written()).raw("update parcel_row set times = times + 1");
    },
    ParcelWeighed: (rows, { position, data }) => {
      rows.put(table, { id: String(position), times: data.grams });
    },
  },
});

describe("a batch whose rows are known without reading", () => {
  let db: Knex;
  const log = history(
    ["parcel-1", sent("Anna")],
    ["parcel-2", sent("Boris")],
    ["parcel-1", received],
    ["parcel-3", sent("Clara")],
  );
  const at = (index: number): bigint => log[index]?.position ?? -1n;
  const batch = (from: number, to: number, events: readonly Recorded[] = log.slice(from, to)) => ({
    after: from === 0 ? -1n : at(from - 1),
    upTo: to === 0 ? -1n : at(to - 1),
    events,
  });
  const nothing = (): void => undefined;
  const feederOf = (...projections: readonly Projection[]) =>
    feeder(
      {
        db,
        store: noEventStore,
        projections,
        context: { open: async (sealed) => sealed },
        log: { info: nothing, warn: nothing, error: nothing },
      },
      "answers",
    );

  before(async () => {
    const { url } = await testDatabase();
    db = openPostgres(url, { poolMax: 2 });
  });
  beforeEach(async () => {
    for (const projection of [rowsProjection, auditEntryProjection, parcelsInto("parcel")])
      await reset(db, projection);
    await db("projection_feed").update({ position: -1 });
    await db("projection_checkpoint").delete().where({ name: "parcel" });
  });
  after(() => db.destroy());

  /** Statements that are sent one by one meanwhile. */
  async function oneByOne(run: () => Promise<void>): Promise<number> {
    let count = 0;
    const see = (): void => {
      count += 1;
    };
    db.on("query", see);
    await run();
    db.off("query", see);
    return count;
  }

  const sentTo = () => db("parcel_row").orderBy("id").pluck("sent_to");
  const stateOf = async (name: string) =>
    (await readCheckpoints(db)).find((row) => row.name === name);

  it("takes one round trip once all read models follow the feed", async () => {
    const feed = feederOf(auditEntryProjection, rowsProjection);
    expect(await oneByOne(() => feed(batch(0, 1)))).to.be.greaterThan(3);
    expect(await oneByOne(() => feed(batch(1, 2)))).to.equal(0);
    expect(await sentTo()).to.deep.equal(["Anna", "Boris"]);
    expect((await rowsOf(db, auditEntryProjection))["audit_entry"]).to.have.length(2);
    expect((await stateOf("parcel_row"))?.position).to.equal(at(1));
  });

  it("is fed statement by statement when an event of it needs what is stored", async () => {
    const feed = feederOf(auditEntryProjection, rowsProjection);
    await feed(batch(0, 1));
    expect(await oneByOne(() => feed(batch(1, 3)))).to.be.greaterThan(3);
    expect(await db("parcel_row").pluck("times")).to.deep.equal([1, 1]);
    expect(await oneByOne(() => feed(batch(3, 4)))).to.equal(0);
    expect(await sentTo()).to.deep.equal(["Anna", "Boris", "Clara"]);
  });

  it("is applied once when it comes again or overlaps", async () => {
    const feed = feederOf(auditEntryProjection, rowsProjection);
    await feed(batch(0, 0));
    await feed(batch(0, 2));
    await db("parcel_row").update({ sent_to: "as it was" });
    await feed(batch(0, 2));
    await feed(batch(0, 1));
    expect(await sentTo()).to.deep.equal(["as it was", "as it was"]);
    await feed(batch(0, 4));
    expect(await sentTo()).to.deep.equal(["as it was", "as it was", "Clara"]);
    expect(await db("parcel_row").where({ sent_to: "as it was" }).pluck("times")).to.deep.equal([
      1, 1,
    ]);
  });

  it("changes nothing of a read model that has left the feed since", async () => {
    const feed = feederOf(auditEntryProjection, rowsProjection);
    await feed(batch(0, 1));
    await db("projection_checkpoint")
      .where({ name: "parcel_row" })
      .update({ state: "failed", position: at(0) });
    await feed(batch(1, 2));
    expect(await sentTo()).to.deep.equal(["Anna"]);
    expect(await stateOf("parcel_row")).to.include({ state: "failed", position: at(0) });
    expect((await stateOf("audit_entry"))?.position).to.equal(at(1));
  });

  it("changes nothing of a read model that leaves the feed while it waits for the lock", async () => {
    const feed = feederOf(auditEntryProjection, rowsProjection);
    await feed(batch(0, 1));
    const feeding = await db.transaction(async (tx) => {
      await lockFeed(tx, "answers");
      await tx("projection_checkpoint")
        .where({ name: "parcel_row" })
        .update({ state: "failed", position: at(0) });
      const waiting = feed(batch(1, 2));
      const waits = () => tx("pg_locks").where({ granted: false });
      await eventually(async () => (await waits()).length > 0);
      return { waiting };
    });
    await feeding.waiting;
    expect(await sentTo()).to.deep.equal(["Anna"]);
    expect(await stateOf("parcel_row")).to.include({ state: "failed", position: at(0) });
  });

  it("changes nothing of a read model that another release has built since", async () => {
    const feed = feederOf(auditEntryProjection, rowsProjection);
    await feed(batch(0, 1));
    await db("projection_checkpoint").where({ name: "parcel_row" }).update({ version: 2 });
    await feed(batch(1, 2));
    expect(await sentTo()).to.deep.equal(["Anna"]);
  });

  it("changes nothing while the feed has no position", async () => {
    const feed = feederOf(auditEntryProjection, rowsProjection);
    await feed(batch(0, 1));
    // As a backup without its constraints may leave it.
    await db.raw("alter table projection_feed disable trigger all");
    const [row] = await db("projection_feed").where({ name: "answers" }).delete().returning("*");
    try {
      await expect(feed(batch(1, 2))).to.be.rejectedWith("the migrations insert a row");
      expect(await sentTo()).to.deep.equal(["Anna"]);
    } finally {
      await db("projection_feed").insert(row);
      await db.raw("alter table projection_feed enable trigger all");
    }
    await feed(batch(1, 2));
    expect(await sentTo()).to.deep.equal(["Anna", "Boris"]);
  });

  it("stops the read model that cannot take it, and the others go on", async () => {
    const feed = feederOf(auditEntryProjection, rowsProjection);
    await feed(batch(0, 1));
    await db.raw("alter table parcel_row add constraint no_boris check (sent_to <> 'Boris')");
    await feed(batch(1, 2));
    expect(await stateOf("parcel_row")).to.include({ state: "failed", position: at(0) });
    expect(await stateOf("audit_entry")).to.include({ state: "live", position: at(1) });
  });
});
