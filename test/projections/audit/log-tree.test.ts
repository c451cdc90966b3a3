import { expect } from "chai";
import type { Recorded } from "../../../src/events/core/event.ts";
import { checkHead } from "../../../src/projections/audit/head-check.ts";
import {
  findLeaf,
  leafOf,
  logTreeProjection,
  rangeHashes,
  rootAt,
  treeSize,
} from "../../../src/projections/audit/log-tree.ts";
import {
  GrowingTree,
  inclusionPath,
  provesInclusion,
} from "../../../src/projections/audit/merkle.ts";
import { project } from "../../../src/projections/core/projection.ts";
import { testDatabase } from "../../support/database.ts";
import { history } from "../../support/history.ts";
import { sent } from "../../support/parcel.ts";
import { context, reset, rewind, rowsOf } from "../../support/projection.ts";

const { db } = await testDatabase();
const log = history(
  ...Array.from({ length: 300 }, (_, n) => [`parcel-${n % 7}`, sent(`${n}`)] as const),
);
const { signal } = new AbortController();

function rootOf(events: readonly Recorded[]): Buffer {
  const tree = new GrowingTree();
  for (const event of events) tree.add(leafOf(event));
  return tree.root();
}

describe("the tree of the log in the database", () => {
  beforeEach(() => reset(db, logTreeProjection));

  it("is the same however the events were batched, and when they come again", async () => {
    for (const [from, to] of [
      [0, 1],
      [1, 130],
      [130, 131],
      [131, 300],
    ] as const) {
      await project(db, logTreeProjection, log.slice(from, to), context);
    }
    expect(await treeSize(db)).to.equal(300n);
    for (const size of [0, 1, 2, 127, 128, 129, 255, 300]) {
      const root = await rootAt(db, BigInt(size));
      expect(root.equals(rootOf(log.slice(0, size))), `${size}`).to.equal(true);
    }
    const before = await rowsOf(db, logTreeProjection);
    await rewind(db, logTreeProjection);
    await project(db, logTreeProjection, log, context);
    expect(await rowsOf(db, logTreeProjection)).to.deep.equal(before);
  });

  it("proves an event by its position", async () => {
    await project(db, logTreeProjection, log, context);
    const event = log[201]!;
    expect(await findLeaf(db, event.position)).to.deep.equal({ index: 201n, size: 300n });
    const path = await rangeHashes(db, inclusionPath(201n, 300n));
    const claim = { leaf: 201n, size: 300n, root: await rootAt(db, 300n), hash: leafOf(event) };
    expect(provesInclusion(claim, path)).to.equal(true);
    expect(await findLeaf(db, 9_999n)).to.deep.equal({ index: null, size: 300n });
  });
});

describe("verifying the log against a head kept outside", () => {
  const short = log.slice(0, 60);
  const head = { size: 60n, root: rootOf(short) };
  const storeOf = (events: readonly Recorded[]) => ({
    async *readAll() {
      yield* events;
    },
  });
  const isEqual = async (events: readonly Recorded[]) =>
    (await checkHead(storeOf(events), head, signal)).equal;

  it("finds a log unchanged that has only grown", async () => {
    expect(await isEqual(short)).to.equal(true);
    expect(await isEqual(log)).to.equal(true);
    expect((await checkHead(storeOf([]), { size: 0n, root: rootOf([]) }, signal)).equal).to.equal(
      true,
    );
  });

  it("finds an event changed, removed, inserted or moved at every place", async () => {
    for (const [place, event] of short.entries()) {
      const forged = { ...event, data: { to: "Mallory" } };
      expect(await isEqual(short.with(place, forged)), `changed ${place}`).to.equal(false);
      expect(await isEqual(short.toSpliced(place, 1)), `removed ${place}`).to.equal(false);
      expect(await isEqual(short.toSpliced(place, 0, forged)), `added ${place}`).to.equal(false);
      if (place === 0) continue;
      const moved = short.with(place, short[place - 1]!).with(place - 1, event);
      expect(await isEqual(moved), `moved ${place}`).to.equal(false);
    }
  });
});
