import { expect } from "chai";
import { withLock } from "../../../src/platform/postgres/leader.ts";
import { readCheckpoints } from "../../../src/projections/core/checkpoint.ts";
import { rebuildLock } from "../../../src/projections/core/rebuild.ts";
import {
  dropHalfBuilt,
  isPastSchema,
  type LogEnd,
  rebuildUntil,
  SchemaTaken,
  schemasOfPast,
} from "../../../src/projections/past/rebuild-until.ts";
import { metadataFor } from "../../support/app/history.ts";
import { parcelsInto, received, sent } from "../../support/package/parcel.ts";
import { testDatabase } from "../../support/store/database.ts";
import { testEventStore } from "../../support/store/event-store.ts";

const { url, db } = await testDatabase();
const { store } = await testEventStore();
const parcel = parcelsInto("parcel");
const copy = parcelsInto("parcel_copy");
const silent = () => undefined;
const log = { info: silent, warn: silent, error: silent };
const projections = [parcel, copy];
const deps = {
  databaseUrl: url,
  db,
  store,
  projections,
  context: { open: async () => null },
  log,
};
const { signal } = new AbortController();

describe("read models of the past", () => {
  /** Where the log stood after each event, a minute apart. */
  const positions: bigint[] = [];
  const timeOf = (index: number) => `2026-01-02T03:0${index}:00.000Z`;

  before(async () => {
    const events = [sent("Anna"), sent("Boris"), received] as const;
    for (const [index, event] of events.entries()) {
      const id = `1000000${index}-0000-4000-8000-000000000000`;
      const metadata = { ...metadataFor(id), occurredAt: timeOf(index) };
      const made = [{ ...event, id, metadata }];
      positions.push((await store.append(`parcel-${index % 2}`, "any", made)).position);
    }
  });

  const build = (until: LogEnd, schema = "past") =>
    rebuildUntil(deps, projections, { schema, until, signal });
  const rows = (schema: string) => db(`${schema}.parcel_copy`).orderBy("id").select("*");
  const schemas = async () =>
    (await db("pg_namespace").pluck("nspname")).filter((name) => /past|taken/.test(name)).sort();

  it("show what was up to a position, and take the place of earlier ones", async () => {
    const counts: number[] = [];
    for (const position of [-1n, ...positions]) {
      const built = await build({ position });
      expect(built?.position).to.equal(position);
      expect(await rows("past")).to.deep.equal(await db("past.parcel").orderBy("id"));
      counts.push((await rows("past")).length);
    }
    expect(counts).to.deep.equal([0, 1, 2, 2]);
    expect(await schemas()).to.deep.equal(["past"]);
  });

  it("show what was up to a time", async () => {
    await build({ time: new Date("2026-01-02T03:01:30Z") }, "past_time");
    await build({ position: positions[1]! });
    expect(await rows("past_time")).to.deep.equal(await rows("past"));
    await build({ time: new Date(timeOf(2)) }, "past_time");
    expect(await rows("past_time")).not.to.deep.equal(await rows("past"));
  });

  it("leave the live ones as they are", async () => {
    expect((await readCheckpoints(db)).map(({ name }) => name)).not.to.include("parcel");
    const live = await db("information_schema.tables")
      .where({ table_schema: "read_model", table_name: "parcel" })
      .pluck("table_name");
    expect(live).to.deep.equal([]);
  });

  it("never take the place of something else", async () => {
    await db.raw("create schema taken");
    await db.raw("create table taken.mine (id int)");
    const error: unknown = await build({ position: 0n }, "taken").catch(
      (reason: unknown) => reason,
    );
    expect(error).to.be.instanceOf(SchemaTaken);
    expect(await db("taken.mine").select("*")).to.deep.equal([]);
    const refused = ["read_model", "public", "pg_catalog", "as_of_issue_v1", "A", "", "x-y"];
    for (const name of [...refused, "past_building"]) {
      expect(isPastSchema(name), name).to.equal(false);
    }
    expect(isPastSchema("past_2026")).to.equal(true);
  });

  it("never take the place of something else under the name that they are built by", async () => {
    await db.raw("create schema past_work_building");
    await db.raw("create table past_work_building.mine (id int)");
    const error: unknown = await build({ position: 0n }, "past_work").catch(
      (reason: unknown) => reason,
    );
    expect(error).to.be.instanceOf(SchemaTaken);
    expect(await db("past_work_building.mine").select("*")).to.deep.equal([]);
    await db.raw("drop schema past_work_building cascade");
  });

  it("take the place of what a killed process left half built", async () => {
    await build({ position: positions[0]! }, "past_work");
    await db.raw("alter schema past_work rename to past_work_building");
    expect(await build({ position: positions[1]! }, "past_work")).to.include({ events: 2 });
    expect(await schemas()).not.to.include("past_work_building");
    await db.raw("drop schema past_work cascade");
  });

  it("remove what a killed process left under another name, and nothing that is being built", async () => {
    for (const name of ["past_killed", "past_running"]) {
      await build({ position: positions[0]! }, name);
      await db.raw("alter schema ?? rename to ??", [name, `${name}_building`]);
    }
    await withLock(url, "projection rebuild past_running", signal, () =>
      build({ position: positions[0]! }, "past_other"),
    );
    expect(await schemas()).to.include("past_running_building");
    expect(await schemas()).not.to.include("past_killed_building");
    for (const name of ["past_running_building", "past_other"]) {
      await db.raw("drop schema ?? cascade", [name]);
    }
  });

  it("are named to who forgets a person, after what was left half built was dropped", async () => {
    await build({ position: -1n });
    await build({ position: -1n }, "past_left");
    await db.raw("alter schema past_left rename to past_left_building");
    await db.raw("create schema read_model_next");
    const next = async () =>
      (await db("pg_namespace").pluck("nspname")).includes("read_model_next");
    await withLock(url, rebuildLock, signal, () => dropHalfBuilt(deps, signal));
    expect(await next(), "is being built").to.equal(true);
    await dropHalfBuilt(deps, signal);
    expect(await next()).to.equal(false);
    expect(await schemasOfPast(db))
      .to.include("past")
      .and.not.include("past_left_building");
  });

  it("leave nothing behind when they are interrupted", async () => {
    const before = await schemas();
    const stopped = AbortSignal.abort(new Error("stopped"));
    const options = { schema: "past_cut", until: { position: 9n }, signal: stopped };
    await rebuildUntil(deps, projections, options).catch(() => undefined);
    expect(await schemas()).to.deep.equal(before);
  });
});
