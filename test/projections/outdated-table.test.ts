import { expect } from "chai";

import { readCheckpoints } from "../../src/projections/core/checkpoint.ts";
import type { Projection } from "../../src/projections/core/projection.ts";
import { dropUnfitTables } from "../../src/projections/outdated-table.ts";
import { reset } from "../support/app/projection.ts";
import { parcelsInto } from "../support/package/parcel.ts";
import { testDatabase } from "../support/store/database.ts";

const { db } = await testDatabase();
const parcel = parcelsInto("parcel");
const [table] = parcel.tables;

/** The next version of the read model, with other columns. */
const nextWith = (columns: Record<string, string>): Projection =>
  ({ ...parcel, version: 2, tables: [{ ...table!, columns }] }) as Projection;
const columns = { ...table!.columns };
const checkpoint = async () => {
  const [row] = await readCheckpoints(db);
  return [row?.version, row?.tables];
};
const dropped = [0, []];
const kept = [1, ["parcel"]];

describe("the table of an earlier version", () => {
  beforeEach(async () => {
    await reset(db, parcel);
    await db("parcel").insert({ id: "1", sent_to: "Anna" });
  });

  it("stays when it has the columns of this release, and more", async () => {
    const { received_by: _, ...fewer } = columns;
    for (const same of [columns, fewer, { ...columns, sent_to: "text null" }]) {
      await dropUnfitTables(db, [nextWith(same)]);
      expect(await checkpoint()).to.deep.equal(kept);
    }
    expect(await db("parcel")).to.have.length(1);
  });

  it("gets a new column that has a default", async () => {
    await dropUnfitTables(db, [nextWith({ ...columns, weight: "integer default 7" })]);
    expect(await db("parcel").pluck("weight")).to.deep.equal([7]);
    expect(await checkpoint()).to.deep.equal(kept);
  });

  for (const [what, other] of [
    ["lacks a column", { weight: "integer" }],
    ["lacks a column that takes null", { weight: "integer null" }],
    ["has a column of another type", { sent_to: "uuid" }],
    ["has nulls that are not expected", { received_by: "uuid" }],
    ["lacks a column with a default and one without", { a: "integer default 1", b: "integer" }],
  ] as const) {
    it(`is dropped when it ${what}`, async () => {
      await dropUnfitTables(db, [nextWith({ ...columns, ...other })]);
      expect(await db.schema.withSchema("read_model").hasTable("parcel")).to.equal(false);
      expect(await checkpoint()).to.deep.equal(dropped);
    });
  }

  it("stays when a later release made it", async () => {
    await db("projection_checkpoint").update({ version: 3 });
    await dropUnfitTables(db, [nextWith({ ...columns, weight: "integer" })]);
    expect(await checkpoint()).to.deep.equal([3, ["parcel"]]);
  });
});
