import { expect } from "chai";
import type { Recorded } from "../../../src/events/core/event.ts";
import { checkHead } from "../../../src/projections/audit/head-check.ts";
import {
  findLeaf,
  leafOf,
  logTreeProjection,
  rangeHashes,
  wholeTree,
} from "../../../src/projections/audit/log-tree.ts";
import {
  GrowingTree,
  inclusionPath,
  rangeHash,
  rangeOf,
} from "../../../src/projections/audit/merkle.ts";
import { history } from "../../support/app/history.ts";
import { context, project, reset, rewind, rowsOf } from "../../support/app/projection.ts";
import { provesInclusion } from "../../support/client/log-proof.ts";
import { sent } from "../../support/package/parcel.ts";
import { testDatabase } from "../../support/store/database.ts";

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
    expect(await wholeTree(db)).to.deep.equal({ size: 0n, root: rootOf([]) });
    for (const [from, to] of [
      [0, 1],
      [1, 2],
      [2, 127],
      [127, 128],
      [128, 129],
      [129, 255],
      [255, 300],
    ] as const) {
      await project(db, logTreeProjection, log.slice(from, to), context);
      const root = rootOf(log.slice(0, to));
      expect(await wholeTree(db)).to.deep.equal({ size: BigInt(to), root });
    }
    const before = await rowsOf(db, logTreeProjection);
    await rewind(db, logTreeProjection);
    await project(db, logTreeProjection, log, context);
    expect(await rowsOf(db, logTreeProjection)).to.deep.equal(before);
  });

  it("proves every event by its position, in the whole tree and in earlier ones", async () => {
    await project(db, logTreeProjection, log, context);
    for (const size of [1, 2, 3, 127, 128, 129, 255, undefined]) {
      const leaves = BigInt(size ?? log.length);
      const root = rootOf(log.slice(0, size));
      const some = log.slice(0, size).entries();
      for (const [at, event] of [...some].filter(([n]) => n % 9 === 0 || n > Number(leaves) - 3)) {
        const given = size === undefined ? undefined : leaves;
        const { hashOf, ...found } = await findLeaf(db, event.position, given);
        const leaf = BigInt(at);
        expect(found).to.deep.equal({ index: leaf, size: 300n });
        const path = inclusionPath(leaf, leaves).map((range) => rangeHash(range, hashOf));
        const hash = rangeHash(rangeOf(leaf, 1n), hashOf);
        expect(hash.equals(leafOf(event))).to.equal(true);
        expect(provesInclusion({ leaf, size: leaves, root, hash }, path), `${at}`).to.equal(true);
      }
    }
  });

  it("finds no leaf where no event is, and none in an empty tree", async () => {
    const none = { index: undefined, size: 0n };
    expect(await findLeaf(db, log[0]!.position, undefined)).to.include(none);
    await project(db, logTreeProjection, log, context);
    expect(await findLeaf(db, 9_999n, undefined)).to.include({ ...none, size: 300n });
  });

  it("reads the hashes of ranges in a tree of the size that it has", async () => {
    await project(db, logTreeProjection, log, context);
    const { size, hashes } = await rangeHashes(db, (whole) => [
      rangeOf(0n, whole),
      rangeOf(0n, 7n),
    ]);
    expect(size).to.equal(300n);
    expect(hashes).to.deep.equal([rootOf(log), rootOf(log.slice(0, 7))]);
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
