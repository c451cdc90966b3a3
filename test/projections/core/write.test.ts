import { expect } from "chai";
import { sessionProjection } from "../../../src/projections/access/session.ts";
import { type Change, change, derive, put, remove } from "../../../src/projections/core/change.ts";
import { applyAfter, CannotApply, type Tx } from "../../../src/projections/core/projection.ts";
import { createTables, defineTable } from "../../../src/projections/core/table.ts";
import { write } from "../../../src/projections/core/write.ts";
import { at, history } from "../../support/app/history.ts";
import { context } from "../../support/app/projection.ts";
import { randomNumbers } from "../../support/app/random.ts";
import { testDatabase } from "../../support/store/database.ts";

const { db } = await testDatabase();

const totals = defineTable({
  name: "book_total",
  columns: { shelf: "text", total: "bigint" },
  key: ["shelf"],
});
const books = defineTable({
  name: "book",
  columns: {
    shelf: "text",
    place: "integer",
    title: "text null",
    tags: "text[] null",
    made_at: "timestamptz null",
    bytes: "bigint null",
    first_at: "text null",
    is_lent: "boolean null",
  },
  key: ["shelf", "place"],
  writtenOnce: ["first_at"],
  counts: [{ table: totals, where: "is_lent is not true" }],
});

const titles = [null, "A", 'quo"te\\ \n', "Ж 🙂", "null"];

before(() => createTables(db, [books, totals]));

describe("the changes of a batch", () => {
  const below = randomNumbers(7);
  const pick = <Item>(items: readonly Item[]): Item => items[below(items.length)]!;
  const changeAt = (n: number): Change => {
    const key = { shelf: pick(["a", "b, c"]), place: pick([1, 2]) };
    const row = { ...key, title: pick(titles), tags: [pick(["x", "{y}"])], bytes: 2n ** 60n };
    const flags = { bytes: pick([null, -5n]), is_lent: pick([null, true, false]) };
    const scalars = { ...flags, made_at: pick([null, new Date(n)]) };
    const { shelf } = key;
    switch (pick(["put", "part", "change", "kept", "values", "many", "shelf", "remove"])) {
      case "put":
        return put(books, { ...row, first_at: String(n) });
      case "values":
        return change(books, key, scalars);
      case "part":
        return put(books, { ...key, made_at: new Date(n) });
      case "change":
        return change(books, key, { title: row.title, tags: undefined });
      case "kept":
        return change(books, key, { first_at: `changed ${n}` });
      case "many":
        return change(books, { shelf }, scalars);
      case "shelf":
        return remove(books, { shelf });
      default:
        return remove(books, key);
    }
  };
  const stored = (tx: Tx) => tx("book").orderBy(["shelf", "place"]).select("*");

  /** The rows that the changes leave when they are written in sets of so many; nothing is kept. */
  async function leftBy(changes: readonly Change[], size: number) {
    const tx = await db.transaction();
    try {
      for (let from = 0; from < changes.length; from += size) {
        await write(tx, changes.slice(from, from + size));
      }
      const counted = tx("book").whereRaw("is_lent is not true").groupBy("shelf");
      const expected = await counted.orderBy("shelf").select("shelf").count({ total: "*" });
      expect(await tx("book_total").orderBy("shelf")).to.deep.equal(expected);
      return await stored(tx);
    } finally {
      await tx.rollback();
    }
  }

  it("leave the rows that the same changes leave one by one, and their totals", async () => {
    let rowsSeen = 0;
    for (let times = 0; times < 40; times += 1) {
      const changes = Array.from({ length: 12 }, (_, n) => changeAt(n));
      const oneByOne = await leftBy(changes, 1);
      expect(await leftBy(changes, 12)).to.deep.equal(oneByOne);
      expect(await leftBy(changes, 5)).to.deep.equal(oneByOne);
      rowsSeen += oneByOne.length;
    }
    expect(rowsSeen).to.be.greaterThan(25);
  });

  it("take one statement for the rows of a kind, however many", async () => {
    await db
      .transaction(async (tx) => {
        let statements = 0;
        tx.on("query", () => {
          statements += 1;
        });
        const puts = Array.from({ length: 50 }, (_, place) => put(books, { shelf: "s", place }));
        const removals = Array.from({ length: 40 }, (_, n) =>
          remove(books, { shelf: "s", place: 50 + n }),
        );
        await write(tx, [...puts, ...removals]);
        expect(statements).to.equal(2);
        expect(await stored(tx)).to.have.length(50);
        await tx.rollback();
      })
      .catch(() => undefined);
  });

  it("derive rows once, behind all other changes", async () => {
    const lend = "update book set is_lent = true where title = any(?)";
    const tx = await db.transaction();
    await write(tx, [
      derive(lend, "A"),
      put(books, { shelf: "s", place: 1, title: "A" }),
      derive(lend, "B"),
      put(books, { shelf: "s", place: 2, title: "B" }),
    ]);
    expect((await stored(tx)).map(({ is_lent }) => is_lent)).to.deep.equal([true, true]);
    await tx.rollback();
  });
});

describe("a projection that writes rows by their keys", () => {
  const closed = { type: "SessionClosed", data: { closedAt: "yesterday" } };
  const [event] = history(["session-1", closed]);

  it("names the event that it cannot take", async () => {
    const tx = await db.transaction();
    const applied = sessionProjection.apply(tx, [event!], context);
    await expect(applied).to.be.rejectedWith(
      "Projection session cannot apply SessionClosed at 1 in session-1",
    );
    await tx.rollback();
  });

  it("names the events of which one cannot be written", async () => {
    const data = { closedById: null, reason: "LOGOUT", closedAt: at };
    const ends = { type: "SessionClosed", data };
    const events = history(["session-1", ends], ["session-2", ends]);
    const tx = await db.transaction();
    // There is no table of sessions in this database.
    const applied = applyAfter(tx, sessionProjection, 0n, events, context);
    await expect(applied).to.be.rejectedWith(
      CannotApply,
      "cannot apply SessionClosed at 2 in session-2 or one of 1 before it",
    );
    await tx.rollback();
  });
});
