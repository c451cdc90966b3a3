import { expect } from "chai";
import { allProjections } from "../../src/projections/all.ts";
import type { CheckpointState } from "../../src/projections/core/checkpoint.ts";
import { areProjectionsReady, projectionStatuses } from "../../src/projections/status.ts";
import { append, sent } from "../support/package/parcel.ts";
import { testDatabase } from "../support/store/database.ts";
import { testEventStore } from "../support/store/event-store.ts";

const { db } = await testDatabase();
const { store } = await testEventStore();
const [name = "", other = ""] = allProjections.map((projection) => projection.name);

const install = (of: string, position: bigint, state: CheckpointState = "live") =>
  db("projection_checkpoint").insert({ name: of, version: 1, tables: [], position, state });

describe("the status of the projections", () => {
  let first: bigint;
  let last: bigint;
  let appendedAt: Date;
  before(async () => {
    first = await append(store, "parcel-1", sent("Anna"));
    last = await append(store, "parcel-1", sent("Boris"), sent("Clara"));
    appendedAt = new Date();
  });
  beforeEach(() => db("projection_checkpoint").delete());

  it("has no lag where everything shows", async () => {
    await install(name, last);
    const statuses = await projectionStatuses(db, store, new Date());
    expect(statuses).to.deep.equal([
      { name, state: "live", position: last, lagPositions: 0n, lagSeconds: 0 },
    ]);
    expect(areProjectionsReady(statuses)).to.equal(true);
  });

  it("counts the lag from the oldest event that does not show", async () => {
    await install(name, first);
    const now = new Date(Date.now() + 60_000);
    const [status] = await projectionStatuses(db, store, now);
    expect(status?.lagPositions).to.equal(last - first);
    expect(status?.lagSeconds).to.be.within(59, 600);
    expect(areProjectionsReady([status!])).to.equal(false);
  });

  it("is ready a moment behind, as a busy service always is", async () => {
    await install(name, first);
    expect(areProjectionsReady(await projectionStatuses(db, store, appendedAt))).to.equal(true);
  });

  it("is not ready while one stopped, is being built, or none is there", async () => {
    expect(areProjectionsReady(await projectionStatuses(db, store, new Date()))).to.equal(false);
    for (const state of ["failed", "behind"] as const) {
      await db("projection_checkpoint").delete();
      await install(name, last);
      await install(other, last, state);
      const statuses = await projectionStatuses(db, store, new Date());
      expect(statuses.map((status) => status.state)).to.deep.equal(["live", state]);
      expect(areProjectionsReady(statuses), state).to.equal(false);
    }
  });

  it("does not report read models that this release does not have", async () => {
    await install(name, last);
    await install("left_out_since", 0n, "behind");
    expect(areProjectionsReady(await projectionStatuses(db, store, new Date()))).to.equal(true);
  });
});
