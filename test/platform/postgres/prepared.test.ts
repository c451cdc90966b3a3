import { expect } from "chai";
import type { Knex } from "knex";

import { openPostgres } from "../../../src/platform/postgres.ts";
import { testDatabase } from "../../support/store/database.ts";

describe("prepared statements", () => {
  let db: Knex;

  before(async () => {
    const { url } = await testDatabase();
    db = openPostgres(url, { poolMax: 1 });
  });
  after(() => db.destroy());

  /** Texts of those that the only connection has. */
  const prepared = () =>
    db.raw<{ rows: { statement: string }[] }>("select statement from pg_prepared_statements");

  async function times(count: number, run: () => Promise<unknown>): Promise<void> {
    for (let n = 0; n < count; n += 1) await run();
  }

  async function isPrepared(part: string): Promise<boolean> {
    const { rows } = await prepared();
    return rows.some(({ statement }) => statement.includes(part));
  }

  it("are made of what comes again, not of what comes once", async () => {
    await db.raw("create table thing (id int primary key, name text)");
    await db("thing").insert({ id: 1, name: "one" });
    expect(await isPrepared('"thing"')).to.equal(false);
    await times(6, () => db("thing").where({ id: 1 }).first("id", "name"));
    expect(await isPrepared('from "thing"')).to.equal(true);
    expect(await isPrepared('insert into "thing"')).to.equal(false);
  });

  it("answer as others do, with other values each time", async () => {
    await times(10, async () => {
      const id = Math.ceil(Math.random() * 1e9) + 1;
      await db("thing").insert({ id, name: `n${id}` });
      expect(await db("thing").where({ id }).first("name")).to.deep.equal({ name: `n${id}` });
    });
    expect(await isPrepared('insert into "thing"')).to.equal(true);
  });

  it("report what is wrong with a statement", async () => {
    await times(8, async () => {
      const error = await db("thing")
        .insert({ id: 1, name: "again" })
        .catch((reason) => reason);
      expect(error.code).to.equal("23505");
    });
  });

  it("are left when the columns of a table have changed", async () => {
    const read = () => db("thing").where({ id: 1 }).select("*");
    await times(8, read);
    await db.raw("alter table thing add column colour text default 'red'");
    expect(await read()).to.deep.equal([{ id: 1, name: "one", colour: "red" }]);
    await times(8, read);
  });

  it("fail a transaction once when the columns have changed, as one to be repeated", async () => {
    const read = () => db.transaction((tx) => tx("thing").where({ id: 1 }).select("id", "*"));
    await times(8, read);
    await db.raw("alter table thing add column size text");
    const error = await read().catch((reason) => reason);
    expect(error).to.include({ name: "OutdatedStatement", code: "40001" });
    expect((await read())[0]).to.include({ id: 1, size: null });
  });
});
