import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import { readCheckpoints } from "../../../src/projections/core/checkpoint.ts";
import type { Projection } from "../../../src/projections/core/projection.ts";
import { nextSchema, type Progress, rebuild } from "../../../src/projections/core/rebuild.ts";
import { runProjections } from "../../../src/projections/core/runner.ts";
import { eventually } from "../../support/app/eventually.ts";
import { context, rowsOf } from "../../support/app/projection.ts";
import { append, parcelsInto, received, sent } from "../../support/package/parcel.ts";
import { testDatabase } from "../../support/store/database.ts";
import { testEventStore } from "../../support/store/event-store.ts";

const { url, db } = await testDatabase();
const { store } = await testEventStore();

const parcel = parcelsInto("parcel");
const copy = parcelsInto("parcel_copy");
const silent = () => undefined;
const log = { info: silent, warn: silent, error: silent };
const deps = { databaseUrl: url, db, store, projections: [parcel, copy], context, log };
const { signal } = new AbortController();

const schemas = async () =>
  (await db("information_schema.schemata").pluck("schema_name")) as readonly string[];
const checkpoint = async (name: string) =>
  (await readCheckpoints(db)).find((row) => row.name === name)!;
const bothReach = async (position: bigint) => {
  for (const name of ["parcel", "parcel_copy"]) {
    await eventually(async () => (await checkpoint(name))?.position === position, 60_000);
  }
};
const parcels = async (of: Projection) => (await rowsOf(db, of))[of.tables[0]!.name]!;

/** The live projections in this process until stopped. */
function start() {
  const abort = new AbortController();
  const ended = runProjections(deps, abort.signal);
  return async () => {
    abort.abort();
    await ended;
  };
}

describe("rebuilding read models", () => {
  let stop: () => Promise<void>;
  let last: bigint;

  before(async () => {
    for (let n = 0; n < 4_100; n += 100) {
      await append(store, `parcel-${n}`, ...Array.from({ length: 100 }, () => sent("Anna")));
    }
    stop = start();
  });

  beforeEach(async () => {
    last = await append(store, "parcel-1", sent("Anna"), received);
    await bothReach(last);
  });
  after(() => stop());

  it("gives the same rows, and reports it with `verify`", async () => {
    const before = await parcels(parcel);

    const rebuilt = await rebuild(deps, [parcel], { signal, verify: true });

    expect(await parcels(parcel)).to.deep.equal(before);
    const rows = BigInt(before.length);
    expect(rebuilt?.comparisons).to.deep.equal([
      { table: "parcel", rowsBefore: rows, rowsAfter: rows, equal: true },
    ]);
  });

  it("repairs rows that were changed by hand, and says that they differed", async () => {
    await db("parcel").where({ id: "1" }).update({ sent_to: "Mallory" });

    const rebuilt = await rebuild(deps, [parcel, copy], { signal, verify: true });

    expect(rebuilt?.comparisons.map(({ table, equal }) => [table, equal])).to.deep.equal([
      ["parcel", false],
      ["parcel_copy", true],
    ]);
    expect(await parcels(parcel)).to.deep.equal(await parcels(copy));
  });

  it("keeps the checkpoint, and the projection is fed on", async () => {
    await rebuild(deps, [parcel], { signal });
    expect(await checkpoint("parcel")).to.include({ position: last, state: "live" });

    const next = await append(store, "parcel-2", sent("Boris"));
    await bothReach(next);
    expect(await parcels(parcel)).to.deep.equal(await parcels(copy));
  });

  it("makes the indexes that rows are stored without", async () => {
    const [table] = parcel.tables;
    const lateIndexes = ["(sent_to)", "(id, sent_to)", "(sent_to, id)"];
    const indexed: Projection = { ...parcel, tables: [{ ...table!, lateIndexes }] };
    await rebuild(deps, [indexed], { signal });
    const indexes = db("pg_indexes").where({ schemaname: "read_model", tablename: "parcel" });
    expect(await indexes.pluck("indexname")).to.include.members([
      "parcel_sent_to_idx",
      "parcel_id_sent_to_idx",
      "parcel_sent_to_id_idx",
    ]);
  });

  it("reports how far it is", async () => {
    const seen: Progress[] = [];
    await rebuild(deps, [parcel], { signal, onProgress: (progress) => seen.push(progress) });

    expect(seen.length).to.be.greaterThan(1);
    expect(seen.at(-1)).to.deep.include({ position: last, head: last });
    expect(seen.every(({ position, head }) => position <= head)).to.equal(true);
  });

  it("loses and doubles nothing while events keep arriving and readers read", async () => {
    let writing = true;
    let written = 0;
    const write = async (): Promise<void> => {
      while (writing) {
        last = await append(store, `parcel-new-${written}`, sent("Clara"));
        written += 1;
        await delay(10);
      }
    };
    let least = Number.POSITIVE_INFINITY;
    let reads = 0;
    const read = async (): Promise<void> => {
      while (writing) {
        const { rows } = await db.raw("select count(*)::int as n from parcel");
        least = Math.min(least, rows[0].n);
        reads += 1;
        await delay(2);
      }
    };
    const known = (await parcels(parcel)).length;
    const others = [write(), read(), read()];

    try {
      for (let times = 0; times < 2 || (reads <= 10 && times < 20); times += 1) {
        await rebuild(deps, [parcel], { signal });
      }
    } finally {
      writing = false;
      await Promise.all(others);
    }
    await bothReach(last);

    expect(least).to.be.at.least(known);
    expect(reads).to.be.greaterThan(10);
    expect((await parcels(parcel)).length).to.equal(known + written);
    expect(await parcels(parcel)).to.deep.equal(await parcels(copy));
  });

  it("waits for a reader in a transaction, without failing it", async () => {
    const reader = await db.transaction();
    await reader.raw("select count(*) from parcel");
    const rebuilding = rebuild(deps, [parcel], { signal });
    const swapWaits = async () =>
      (
        await db("pg_locks")
          .where({ mode: "AccessExclusiveLock", granted: false })
          .whereRaw("database = (select oid from pg_database where datname = current_database())")
      ).length > 0;
    // It waits for a moment, lets the readers behind it pass, and tries again.
    await eventually(swapWaits);
    await eventually(async () => !(await swapWaits()));
    await eventually(swapWaits);
    await reader.raw("select count(*) from parcel");
    await reader.commit();

    expect((await rebuilding)?.events).to.be.greaterThan(1_000);
  });

  it("leaves nothing that is read when interrupted, and cleans up the next time", async () => {
    const before = await parcels(parcel);
    const interrupt = new AbortController();
    const options = { signal: interrupt.signal, onProgress: () => interrupt.abort() };
    await expect(rebuild(deps, [parcel], options)).to.be.rejectedWith("aborted");
    expect(await parcels(parcel)).to.deep.equal(before);

    // What a killed process leaves behind.
    await db.raw("create schema if not exists ??", [nextSchema]);
    await db.raw("create table ??.parcel (leftover text)", [nextSchema]);
    await rebuild(deps, [parcel], { signal });

    expect(await parcels(parcel)).to.deep.equal(before);
    expect(await schemas()).not.to.include(nextSchema);
  });

  it("is done by one at a time", async () => {
    // Neither rebuild ends while a transaction reads the table, however late the second starts.
    const reader = await db.transaction();
    await reader.raw("select count(*) from parcel");
    const both = [rebuild(deps, [parcel], { signal }), rebuild(deps, [parcel], { signal })];
    expect(await Promise.race(both)).to.equal(undefined);
    await reader.commit();
    const rebuilt = (await Promise.all(both)).filter((each) => each !== undefined);
    expect(rebuilt).to.have.length(1);
  });

  it("names the event that cannot be applied, and leaves the tables as they are", async () => {
    const before = await parcels(parcel);
    const broken: Projection = {
      ...parcel,
      apply: () => Promise.reject(new Error("out of paper")),
    };
    await expect(rebuild(deps, [broken], { signal })).to.be.rejectedWith(
      /cannot apply ParcelSent at \d+ in parcel-\d+ or one of \d+ before it: out of paper/,
    );
    expect(await parcels(parcel)).to.deep.equal(before);
  });

  it("makes a failed projection live again", async () => {
    await db("projection_checkpoint").where({ name: "parcel" }).update({ state: "failed" });
    await rebuild(deps, [parcel], { signal });
    expect(await checkpoint("parcel")).to.include({ state: "live", failure: null });
  });

  it("brings back read models that a backup was restored without", async () => {
    const before = await parcels(parcel);
    await stop();
    await db.raw("drop schema read_model cascade");

    await rebuild(deps, [parcel, copy], { signal });

    expect(await parcels(parcel)).to.deep.equal(before);
    stop = start();
    const next = await append(store, "parcel-3", sent("Boris"));
    await eventually(async () => (await checkpoint("parcel")).position === next);
  });

  it("drops a table that the new version no longer has", async () => {
    await db.raw("create table read_model.parcel_old (id text)");
    await db("projection_checkpoint")
      .where({ name: "parcel" })
      .update({ tables: ["parcel", "parcel_old"] });
    await rebuild(deps, [parcel], { signal });
    expect(await db.schema.withSchema("read_model").hasTable("parcel_old")).to.equal(false);
  });
});
