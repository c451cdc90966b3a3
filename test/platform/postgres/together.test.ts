import { expect } from "chai";
import type { Knex } from "knex";
import { runTogether } from "../../../src/platform/postgres/together.ts";
import { openPostgres } from "../../../src/platform/postgres.ts";
import { eventually } from "../../support/app/eventually.ts";
import { testDatabase } from "../../support/store/database.ts";

describe("statements sent together", () => {
  let db: Knex;

  before(async () => {
    const { url } = await testDatabase();
    db = openPostgres(url, { poolMax: 1 });
    await db.raw(
      "create table thing (id bigint primary key, name text, made timestamptz, more jsonb)",
    );
  });
  beforeEach(() => db("thing").delete());
  after(() => db.destroy());

  const insert = (id: number, name = "one") => db("thing").insert({ id, name });
  const ids = () => db("thing").orderBy("id").pluck("id");
  const errorOf = (statements: Parameters<typeof runTogether>[1]) =>
    runTogether(db, statements).then(
      () => undefined,
      (reason) => reason,
    );

  it("write values as statements sent one by one do", async () => {
    const made = new Date("2026-01-02T03:04:05.678Z");
    const row = { id: 2n ** 60n, name: "Ж\"'\\ ?", made, more: { list: [1, null] } };
    await runTogether(db, [
      db("thing").insert(row),
      db("thing").insert({ ...row, id: 1n, name: null }),
    ]);
    expect(await db("thing").orderBy("id")).to.deep.equal([{ ...row, id: 1n, name: null }, row]);
  });

  it("see what those before them wrote, in one transaction", async () => {
    await runTogether(db, [
      insert(1),
      db.raw("update thing set name = pg_current_xact_id()::text where id = 1"),
      db.raw("insert into thing (id, name) select 2, pg_current_xact_id()::text from thing"),
    ]);
    const names = await db("thing").pluck("name");
    expect(names).to.have.length(2);
    expect(new Set(names).size).to.equal(1);
  });

  it("leave nothing when one of them fails, and report that one", async () => {
    for (let n = 0; n < 8; n += 1) {
      const error = await errorOf([
        insert(1),
        insert(2),
        insert(1),
        db.raw("select 1 / 0"),
        insert(3),
      ]);
      expect(error?.code).to.equal("23505");
      expect(await ids()).to.deep.equal([]);
    }
    await runTogether(db, [insert(1), insert(2)]);
    expect(await ids()).to.deep.equal([1n, 2n]);
  });

  it("send nothing when a value cannot be written", async () => {
    const circular: Record<string, unknown> = {};
    circular["self"] = circular;
    const error = await errorOf([insert(1), db("thing").insert({ id: 2, more: circular })]);
    expect(error).to.be.instanceOf(TypeError);
    expect(await ids()).to.deep.equal([]);
  });

  it("are prepared when they come again, and parsed once", async () => {
    for (let n = 0; n < 9; n += 1) await runTogether(db, [insert(n), insert(n + 100, "two")]);
    const { rows } = await db.raw("select statement from pg_prepared_statements");
    const inserts = rows.filter(({ statement }: { statement: string }) =>
      statement.startsWith("insert"),
    );
    expect(inserts).to.have.length(1);
    expect(await ids()).to.have.length(18);
  });

  it("are prepared although the first to come with a name failed", async () => {
    const named = (id: number) =>
      db.raw("insert into thing (id, name) values (?, 'failing')", [id]);
    await runTogether(db, [named(1)]);
    for (let n = 0; n < 6; n += 1) await errorOf([insert(1), named(1)]);
    for (let n = 2; n < 8; n += 1) await runTogether(db, [named(n)]);
    expect(await ids()).to.have.length(7);
  });

  it("fail when the connection is lost, and the next ones have another", async () => {
    const error = await errorOf([
      insert(1),
      db.raw("select pg_terminate_backend(pg_backend_pid())"),
      insert(2),
    ]);
    expect(error?.code).to.equal("57P01");
    await eventually(async () => (await errorOf([insert(3)])) === undefined);
    expect(await ids()).to.deep.equal([3n]);
  });
});
