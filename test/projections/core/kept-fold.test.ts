import { randomUUID } from "node:crypto";
import { expect } from "chai";

import type { Recorded } from "../../../src/events/core/event.ts";
import { withReadModelsOf } from "../../../src/projections/core/as-of.ts";
import type { Projection } from "../../../src/projections/core/projection.ts";
import { metadataFor } from "../../support/app/history.ts";
import { testDatabase } from "../../support/store/database.ts";

const { db } = await testDatabase();

/** Counts how often it is given events, and keeps the last of them in columns of every kind. */
let applied = 0;
const probe: Projection = {
  name: "fold_probe",
  version: 1,
  tables: ["fold_probe"],
  async create(tx) {
    await tx.schema.createTable("fold_probe", (table) => {
      table.bigInteger("position").primary();
      table.specificType("names", "text[]").notNullable();
      table.jsonb("said");
      table.binary("digest");
      table.timestamp("at").notNullable();
      table.text("opened");
    });
  },
  types: new Set(["Said"]),
  apply: () => Promise.reject(new Error("all come at once")),
  async applyAll(tx, events, { open }) {
    applied += 1;
    for (const { position, data, recordedAt } of events.slice(-2)) {
      const { secret } = data;
      await tx("fold_probe").insert({
        position,
        names: ['a "quoted", name', "", "{b}\\", null],
        said: position % 2n === 0n ? JSON.stringify({ deep: [1, "two (3)"] }) : "null",
        digest: Buffer.from([0, 92, 255]),
        at: recordedAt,
        opened: typeof secret === "string" ? await open(secret as never) : null,
      });
    }
  },
};

const log = (count: number, data: object = {}): readonly Recorded[] =>
  Array.from({ length: count }, (_, index) => ({
    id: randomUUID(),
    type: "Said",
    data: { ...data },
    metadata: metadataFor(randomUUID()),
    stream: "probe-1",
    revision: BigInt(index),
    position: BigInt(index + 1),
    recordedAt: new Date("2026-01-02T03:04:05.678Z"),
  }));

/** The rows that the events make, and how often they were applied for them. */
async function rowsOf(events: readonly Recorded[], opened = "in clear") {
  const before = applied;
  const past = { ownerId: "here", events, context: { open: async () => opened } };
  const rows = await withReadModelsOf(db, [probe], past, async (tx) =>
    tx("fold_probe").orderBy("position").select("*", tx.raw("said = 'null' as null_said")),
  );
  return { rows, applied: applied - before };
}

describe("rows that events of the past made", () => {
  it("are made by parts of a few megabytes, with turns for others in between", async () => {
    const parts: number[] = [];
    const turns: number[] = [];
    let turn = 0;
    let ended = false;
    const count = (): void => {
      turn += 1;
      if (!ended) setImmediate(count);
    };
    setImmediate(count);
    const large: Projection = {
      ...probe,
      async applyAll(_tx, events) {
        parts.push(JSON.stringify(events.map(({ data }) => data)).length);
        turns.push(turn);
      },
    };
    const events = log(108, { text: "x".repeat(500_000) });
    const past = { ownerId: "large", events, context: { open: async () => "" } };
    await withReadModelsOf(db, [large], past, async () => undefined);
    ended = true;
    expect(parts.reduce((sum, bytes) => sum + bytes, 0)).to.be.above(54_000_000);
    expect(Math.max(...parts)).to.be.below(2_000_000);
    expect(new Set(turns).size).to.be.above(parts.length / 4);
  });

  it("are the same when they are written again, without their events being applied", async () => {
    const first = await rowsOf(log(60));
    const second = await rowsOf(log(60));
    expect([first.applied, second.applied]).to.deep.equal([1, 0]);
    expect(first.rows).to.have.length(2);
    expect(second.rows).to.deep.equal(first.rows);
  });

  it("are made anew of other events", async () => {
    expect((await rowsOf(log(61))).rows.at(-1)?.position).to.equal(61n);
    expect((await rowsOf(log(62))).rows.at(-1)?.position).to.equal(62n);
    expect((await rowsOf(log(62).toSpliced(3, 1))).applied).to.equal(1);
  });

  it("are never kept when personal data was opened for them", async () => {
    const sealed = { secret: "sealed.user-1.AAAA" };
    expect((await rowsOf(log(70, sealed))).rows[0]?.opened).to.equal("in clear");
    expect((await rowsOf(log(70, sealed), "forgotten")).rows[0]?.opened).to.equal("forgotten");
  });

  it("are given up when what reads them takes too long", async () => {
    const context = { open: async () => null };
    const past = { ownerId: "here", events: log(1), context, runMaxMs: 20 };
    const never = withReadModelsOf(db, [probe], past, () => new Promise(() => undefined));
    await expect(never).to.be.rejectedWith("could not be made in time");
    expect((await rowsOf(log(1))).rows).to.have.length(1);
  });

  it("leave nothing behind", async () => {
    expect(await db("as_of_fold_probe_v1.fold_probe")).to.deep.equal([]);
  });
});
