import { expect } from "chai";
import { withLock } from "../../../src/platform/postgres/leader.ts";
import { readCheckpoints } from "../../../src/projections/core/checkpoint.ts";
import type { Projection } from "../../../src/projections/core/projection.ts";
import { rebuildLock } from "../../../src/projections/core/rebuild.ts";
import { runProjections } from "../../../src/projections/core/runner.ts";
import { eventually } from "../../support/app/eventually.ts";
import { context, rowsOf, uninstall } from "../../support/app/projection.ts";
import { append, parcelsInto, received, receiver, sent } from "../../support/package/parcel.ts";
import { testDatabase } from "../../support/store/database.ts";
import { testEventStore } from "../../support/store/event-store.ts";

const { url, db } = await testDatabase();
const { store } = await testEventStore();

const parcel = parcelsInto("parcel");
const copy = parcelsInto("parcel_copy");
/** Cannot take a parcel for one person. */
const pickyOf = (person: string): Projection => ({
  ...parcelsInto("parcel_picky"),
  async apply(tx, events, used) {
    if (events.some(({ data }) => data["to"] === person)) throw new Error(`not for ${person}`);
    await parcelsInto("parcel_picky").apply(tx, events, used);
  },
});
const picky = pickyOf("Mallory");

const logged: string[] = [];
const note = (_fields: object, message: string) => void logged.push(message);
const log = { info: note, warn: note, error: note };

/** A process that runs projections. */
function start(...projections: readonly Projection[]) {
  const abort = new AbortController();
  const deps = { databaseUrl: url, db, store, projections, context, log };
  const ended = runProjections(deps, abort.signal);
  const stop = async (): Promise<void> => {
    abort.abort();
    await ended;
  };
  running.push(stop);
  return { stop };
}
const running: (() => Promise<void>)[] = [];

const checkpoint = async (name: string) =>
  (await readCheckpoints(db)).find((row) => row.name === name);
const reached = (name: string, position: bigint) =>
  eventually(async () => (await checkpoint(name))?.position === position);
const parcels = async (of: Projection) => (await rowsOf(db, of))[of.tables[0]!.name];

describe("running projections", () => {
  afterEach(async () => {
    for (const stop of running.splice(0)) await stop();
    for (const projection of [parcel, copy, picky]) await uninstall(db, projection);
    logged.length = 0;
  });

  it("installs tables, catches up and follows", async () => {
    const before = await append(store, "parcel-1", sent("Anna"));
    start(parcel);
    await reached("parcel", before);

    const after = await append(store, "parcel-1", received);
    await reached("parcel", after);

    expect(await parcels(parcel)).to.deep.include({
      id: "1",
      sent_to: "Anna",
      received_by: receiver,
    });
  });

  it("moves the checkpoint past events that nobody handles", async () => {
    start(parcel);
    await reached("parcel", await append(store, "letter-1", { type: "LetterSent", data: {} }));
  });

  it("stops a projection at the event it cannot apply, while the others go on", async () => {
    start(parcel, picky);
    await reached("parcel_picky", await append(store, "parcel-2", sent("Boris")));

    const good = await append(store, "parcel-3", sent("Clara"));
    await append(store, "parcel-4", sent("Mallory"));
    await reached("parcel", await append(store, "parcel-5", sent("Dora")));
    await eventually(async () => (await checkpoint("parcel_picky"))?.state === "failed");

    const { position, failure } = (await checkpoint("parcel_picky"))!;
    expect(position).to.equal(good);
    expect(failure).to.match(/ParcelSent at \d+ in parcel-4: not for Mallory/);
    await eventually(() => logged.includes("projection stopped"));
    expect((await parcels(picky))!.map((row) => (row as { id: string }).id)).to.not.include("5");
  });

  it("tries a stopped projection again with the next leader, without skipping", async () => {
    const first = start(parcel, picky);
    const last = await append(store, "parcel-6", sent("Mallory"));
    await eventually(async () => (await checkpoint("parcel_picky"))?.state === "failed");
    await first.stop();

    const repaired = parcelsInto("parcel_picky");
    start(parcel, repaired);
    await eventually(async () => (await checkpoint("parcel_picky"))?.state === "live");
    await reached("parcel", last);

    expect(await parcels(repaired)).to.deep.equal(await parcels(parcel));
  });

  it("brings a new projection up beside the live ones", async () => {
    const first = start(parcel);
    await reached("parcel", await append(store, "parcel-7", sent("Egon")));
    await first.stop();

    start(parcel, copy);
    await eventually(async () => (await checkpoint("parcel_copy"))?.state === "live");
    const last = await append(store, "parcel-7", received);
    for (const name of ["parcel_copy", "parcel"]) await reached(name, last);

    expect(await parcels(copy)).to.deep.equal(await parcels(parcel));
  });

  it("makes no table of a new projection before all its rows are there", async () => {
    const first = start(parcel);
    await reached("parcel", await append(store, "parcel-9", sent("Gerda")));
    await first.stop();
    const hasTable = () => db.schema.withSchema("read_model").hasTable("parcel_copy");
    await withLock(url, rebuildLock, new AbortController().signal, async () => {
      start(parcel, copy);
      await eventually(async () => (await checkpoint("parcel_copy"))?.state === "behind");
      expect(await hasTable()).to.equal(false);
    });
    await eventually(hasTable);
    expect(await parcels(copy)).to.deep.equal(await parcels(parcel));
  });

  it("builds a projection of another version again", async () => {
    const first = start(parcel);
    await reached("parcel", await append(store, "parcel-8", sent("Fritz")));
    await first.stop();
    const [table] = parcel.tables;
    const columns = { ...table!.columns, weight: "integer default 0" } as never;
    const next = parcelsInto("parcel", 2, { ...table, columns } as never);

    start(next);
    await eventually(async () => (await checkpoint("parcel"))?.version === 2);
    await reached("parcel", await append(store, "parcel-8", received));

    expect(await parcels(next)).to.deep.include({
      id: "8",
      sent_to: "Fritz",
      received_by: receiver,
      weight: 0,
    });
  });

  it("leaves tables alone that another release has built", async () => {
    start(parcel, copy);
    const before = await append(store, "parcel-20", sent("Ida"));
    await reached("parcel", before);
    await db("projection_checkpoint").where({ name: "parcel" }).update({ version: 2 });

    await reached("parcel_copy", await append(store, "parcel-20", received));

    expect((await checkpoint("parcel"))?.position).to.equal(before);
    expect(await parcels(parcel)).to.deep.include({ id: "20", sent_to: "Ida", received_by: null });
  });

  it("hands over to a standby when the leader's connection dies", async () => {
    const applied: string[] = [];
    const named = (process: string): Projection => ({
      ...parcel,
      async apply(tx, events, used) {
        applied.push(process);
        await parcel.apply(tx, events, used);
      },
    });
    start(named("first"));
    await eventually(() => logged.includes("leading the projections"));
    start(named("second"));
    await reached("parcel", await append(store, "parcel-10", sent("Hans")));
    expect(new Set(applied)).to.deep.equal(new Set(["first"]));

    // The one that led may be the next leader as well, seldom and not every time.
    for (let terms = 1; applied.at(-1) !== "second" && terms < 10; terms += 1) {
      await db.raw(
        `select pg_terminate_backend(pid) from pg_locks join pg_stat_activity using (pid)
         where locktype = 'advisory' and application_name = 'lock projections'
           and datname = current_database()`,
      );
      const leads = () => logged.filter((message) => message.startsWith("leading")).length;
      await eventually(() => leads() > terms);
      applied.length = 0;
      await reached("parcel", await append(store, `parcel-10-${terms}`, sent("Hans")));
      expect(applied).to.have.length(1);
    }
    expect(applied).to.deep.equal(["second"]);
  });
});
