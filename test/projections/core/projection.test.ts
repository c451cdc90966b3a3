import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import { showOperationsIn } from "../../../src/platform/event-loop/operation.ts";
import { OperationMemory } from "../../../src/platform/event-loop/operation-memory.ts";
import { readCheckpoints } from "../../../src/projections/core/checkpoint.ts";
import type { Projection } from "../../../src/projections/core/projection.ts";
import { history } from "../../support/app/history.ts";
import { context, project, reset, rewind, rowsOf } from "../../support/app/projection.ts";
import { whileSuspended } from "../../support/app/suspended.ts";
import { parcel, received, receiver, sent } from "../../support/package/parcel.ts";
import { testDatabase } from "../../support/store/database.ts";

const applied: bigint[] = [];
const probe: Projection = {
  ...parcel,
  async apply(tx, events, used) {
    applied.push(...events.map(({ position }) => position));
    await parcel.apply(tx, events, used);
  },
};

const log = history(
  ["parcel-1", sent("Anna")],
  ["parcel-2", sent("Boris")],
  ["parcel-1", received],
  ["letter-1", { type: "LetterSent", data: {} }],
);

const { db } = await testDatabase();

describe("projection", () => {
  const tables = async () => ({
    ...(await rowsOf(db, parcel)),
    position: (await readCheckpoints(db)).map(({ position }) => position),
  });

  beforeEach(async () => {
    applied.length = 0;
    await reset(db, parcel);
  });

  it("turns events into rows and moves past those it does not know", async () => {
    await project(db, probe, log, context);

    expect(await tables()).to.deep.equal({
      parcel: [
        { id: "1", sent_to: "Anna", received_by: receiver },
        { id: "2", sent_to: "Boris", received_by: null },
      ],
      position: [4n],
    });
  });

  it("stops before an event that has stopped the process twice, which the watcher names", async () => {
    const memory = new OperationMemory();
    showOperationsIn(memory);
    try {
      const running = { name: "projection-parcel", caller: "ParcelSent at 1 and later" };
      await whileSuspended([running], async () => {
        const failed = await project(db, probe, log, context).catch((error: unknown) => error);
        expect(String(failed)).to.include(
          "ParcelSent at 1 and later has stopped the process twice",
        );
      });
      expect(applied).to.deep.equal([]);
      await project(db, probe, log, context);
      expect(memory.read().last).to.deep.equal(running);
    } finally {
      showOperationsIn(undefined);
    }
  });

  it("handles only what its handlers do not ignore", () => {
    expect([...parcel.types]).to.deep.equal(["ParcelSent", "ParcelReceived"]);
  });

  it("ends the same when deliveries repeat and overlap", async () => {
    await project(db, probe, log, context);
    const once = await tables();

    for (const repeated of [log.slice(0, 1), log.slice(1), log]) {
      await project(db, probe, repeated, context);
      expect(await tables()).to.deep.equal(once);
    }
    expect(applied).to.deep.equal([1n, 2n, 3n]);
  });

  it("applies only the new part of a batch that overlaps", async () => {
    await project(db, probe, log.slice(0, 2), context);
    await project(db, probe, log.slice(1), context);

    expect(applied).to.deep.equal([1n, 2n, 3n]);
  });

  it("ends the same when replayed from the start, emptied or not", async () => {
    await project(db, probe, log, context);
    const live = await tables();

    await rewind(db, parcel);
    await project(db, probe, log, context);
    expect(await tables()).to.deep.equal(live);

    await reset(db, parcel);
    for (const event of log) await project(db, probe, [event], context);
    expect(await tables()).to.deep.equal(live);
  });

  it("moves neither rows nor checkpoint when one event of a batch fails", async () => {
    await project(db, probe, log.slice(0, 1), context);
    const before = await tables();
    const broken = { ...received, data: { by: "not a uuid" } };
    const batch = [log[1]!, { ...log[2]!, ...broken }];

    await expect(project(db, probe, batch, context)).to.be.rejectedWith(
      "Projection parcel cannot apply ParcelReceived at 3 in parcel-1",
    );

    expect(await tables()).to.deep.equal(before);
  });

  it("applies each event once when eight processes deliver the same batch", async () => {
    const seen: bigint[] = [];
    const slow: Projection = {
      ...parcel,
      apply: async (_tx, events) => {
        seen.push(...events.map(({ position }) => position));
        // Long enough for the others to arrive while this one holds the lock.
        await delay(20);
      },
    };

    await Promise.all(Array.from({ length: 8 }, () => project(db, slow, log, context)));

    expect(seen).to.deep.equal([1n, 2n, 3n]);
  });
});
