import { expect } from "chai";
import { sessionProjection } from "../../../src/projections/access/session.ts";
import { applyAfter, CannotApply, type Tx } from "../../../src/projections/core/projection.ts";
import { tableOf, Writes } from "../../../src/projections/core/writes.ts";
import { at, history } from "../../support/app/history.ts";
import { context } from "../../support/app/projection.ts";
import { randomNumbers } from "../../support/app/random.ts";
import { testDatabase } from "../../support/store/database.ts";

type Row = Readonly<{
  shelf: string;
  place: number;
  title: string | null;
  tags: readonly string[] | null;
  made_at: Date | null;
  bytes: bigint | null;
  first_at: string | null;
  is_lent: boolean | null;
}>;

const { db } = await testDatabase();
const books = tableOf<Row>({ name: "book", key: ["shelf", "place"], kept: ["first_at"] });
const titles = [null, "A", 'quo"te\\ \n', "Ж 🙂", "null"];

before(async () => {
  await db.schema.createTable("book", (table) => {
    table.text("shelf");
    table.integer("place");
    table.text("title");
    table.specificType("tags", "text[]");
    table.timestamp("made_at");
    table.bigInteger("bytes");
    table.text("first_at");
    table.boolean("is_lent");
    table.primary(["shelf", "place"]);
  });
});

describe("writes of a batch", () => {
  const below = randomNumbers(7);
  const pick = <Item>(items: readonly Item[]): Item => items[below(items.length)]!;
  const write = (n: number): ((rows: Writes) => void) => {
    const key = { shelf: pick(["a", "b, c"]), place: pick([1, 2]) };
    const row = { ...key, title: pick(titles), tags: [pick(["x", "{y}"])], bytes: 2n ** 60n };
    const flags = { bytes: pick([null, -5n]), is_lent: pick([null, true, false]) };
    const scalars = { ...flags, made_at: pick([null, new Date(n)]) };
    switch (pick(["put", "part", "change", "values", "nothing", "remove"])) {
      case "put":
        return (rows) => rows.put(books, { ...row, first_at: String(n) });
      case "values":
        return (rows) => rows.change(books, key, scalars);
      case "part":
        return (rows) => rows.put(books, { ...key, made_at: new Date(n) });
      case "change":
        return (rows) => rows.change(books, key, { title: row.title, tags: undefined });
      case "nothing":
        return (rows) => rows.change(books, key, { title: undefined });
      default:
        return (rows) => rows.remove(books, key);
    }
  };
  const stored = (tx: Tx) => tx("book").orderBy(["shelf", "place"]).select("*");

  /** The rows that the writes leave when they are written in sets of so many; nothing is kept. */
  async function leftBy(writes: readonly ((rows: Writes) => void)[], size: number) {
    const tx = await db.transaction();
    try {
      for (let from = 0; from < writes.length; from += size) {
        const rows = new Writes(tx);
        for (const one of writes.slice(from, from + size)) one(rows);
        await rows.written();
      }
      return await stored(tx);
    } finally {
      await tx.rollback();
    }
  }

  it("leave the rows that the same writes leave one by one", async () => {
    let rowsSeen = 0;
    for (let times = 0; times < 25; times += 1) {
      const writes = Array.from({ length: 12 }, (_, n) => write(n));
      const oneByOne = await leftBy(writes, 1);
      expect(await leftBy(writes, 12)).to.deep.equal(oneByOne);
      expect(await leftBy(writes, 5)).to.deep.equal(oneByOne);
      rowsSeen += oneByOne.length;
    }
    expect(rowsSeen).to.be.greaterThan(25);
  });

  it("make no row of JSON for one whose values have no parts", async () => {
    await db.transaction(async (tx) => {
      const texts: string[] = [];
      tx.on("query", ({ sql }: Readonly<{ sql: string }>) => texts.push(sql));
      const write = async (fill: (rows: Writes) => void) => {
        const rows = new Writes(tx);
        fill(rows);
        await rows.written();
      };
      const key = { shelf: "s", place: 1 };
      await write((rows) => rows.put(books, { ...key, title: "A", made_at: new Date(0) }));
      await write((rows) => rows.change(books, key, { bytes: 7n, is_lent: true }));
      expect(await stored(tx)).to.deep.include.members([
        {
          ...key,
          title: "A",
          tags: null,
          made_at: new Date(0),
          bytes: 7n,
          first_at: null,
          is_lent: true,
        },
      ]);
      await write((rows) => rows.remove(books, key));
      expect(await stored(tx)).to.deep.equal([]);
      expect(texts.filter((text) => text.includes("json"))).to.deep.equal([]);
      await write((rows) => rows.put(books, { ...key, tags: ["x"] }));
      expect(texts.filter((text) => text.includes("json"))).to.have.length(1);
      await tx.raw("truncate book");
    });
  });

  it("take one statement for the rows of a kind, however many", async () => {
    await db.transaction(async (tx) => {
      let statements = 0;
      tx.on("query", () => {
        statements += 1;
      });
      const rows = new Writes(tx);
      for (let place = 0; place < 50; place += 1) rows.put(books, { shelf: "s", place });
      for (let place = 50; place < 90; place += 1) rows.remove(books, { shelf: "s", place });
      await rows.written();
      await rows.written();
      expect(statements).to.equal(2);
      expect(await stored(tx)).to.have.length(50);
      await tx.raw("truncate book");
    });
  });

  it("take another statement where one would be too long", async () => {
    await db.transaction(async (tx) => {
      const lengths: number[] = [];
      tx.on("query", ({ bindings = [] }: Readonly<{ bindings?: readonly unknown[] }>) =>
        lengths.push(...bindings.map((each) => String(each).length)),
      );
      const rows = new Writes(tx);
      const title = "t".repeat(3 * 1024 ** 2);
      for (const place of [1, 2, 3, 4]) rows.put(books, { shelf: "s", place, title });
      await rows.written();
      expect(Math.max(...lengths)).to.be.within(6 * 1024 ** 2, 8 * 1024 ** 2);
      expect(await stored(tx)).to.have.length(4);
      await tx.raw("truncate book");
    });
  });
});

describe("a projection that writes rows by their keys", () => {
  const closed = { type: "SessionClosed", data: { closedAt: "yesterday" } };
  const [event] = history(["session-1", closed]);

  it("names the event that it cannot take", async () => {
    const tx = await db.transaction();
    const applied = sessionProjection.applyAll?.(tx, [event!], context);
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
