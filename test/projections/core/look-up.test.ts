import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { change, lookUp, put, remove } from "../../../src/projections/core/change.ts";
import { createTables, defineTable } from "../../../src/projections/core/table.ts";
import { write } from "../../../src/projections/core/write.ts";
import { testDatabase } from "../../support/store/database.ts";

const { db } = await testDatabase();

const sizes = defineTable({
  name: "looked_size",
  columns: { owner: "text", total: "bigint" },
  key: ["owner"],
});
const parts = defineTable({
  name: "looked_part",
  columns: { id: "uuid", whole_id: "uuid", owner: "text null", bytes: "bigint" },
  key: ["id"],
  counts: [{ table: sizes, where: "owner is not null", sum: "bytes" }],
});
const wholes = defineTable({
  name: "looked_whole",
  columns: { id: "uuid", owner: "text" },
  key: ["id"],
});

const [id, wholeId, otherId] = [randomUUID(), randomUUID(), randomUUID()];
const owned = (whole_id: string, bytes: bigint) => [
  put(parts, { id, whole_id, bytes }),
  lookUp<Readonly<{ id: string; owner: string }>>(
    "select id, owner from looked_whole where id = any(?)",
    whole_id,
    ({ owner }) => change(parts, { id }, { owner: owner.toUpperCase() }),
  ),
];
const ownerOf = async () => (await db("looked_part").where({ id }).first("owner"))?.owner;

describe("a change that another row decides", () => {
  before(() => db.transaction((tx) => createTables(tx, [sizes, parts, wholes])));

  it("finds a row that comes with the same batch, whatever their order", async () => {
    const whole = put(wholes, { id: wholeId, owner: "anna" });
    await db.transaction((tx) => write(tx, [...owned(wholeId, 7n), whole]));
    expect(await ownerOf()).to.equal("ANNA");
  });

  it("leads to sums of a column by the values that it gave", async () => {
    expect(await db("looked_size")).to.deep.equal([{ owner: "ANNA", total: 7n }]);
    await db.transaction((tx) => write(tx, owned(wholeId, 5n)));
    expect(await db("looked_size")).to.deep.equal([{ owner: "ANNA", total: 5n }]);
  });

  it("changes nothing where there is no such row, or what it would change is gone", async () => {
    await db.transaction((tx) => write(tx, owned(otherId, 5n)));
    expect(await ownerOf()).to.equal("ANNA");
    await db.transaction((tx) => write(tx, [...owned(wholeId, 5n), remove(parts, { id })]));
    expect(await ownerOf()).to.equal(undefined);
    expect(await db("looked_size")).to.deep.equal([]);
  });
});
