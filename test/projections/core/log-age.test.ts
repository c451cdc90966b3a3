import { expect } from "chai";

import { type CheckpointRow, readCheckpoints } from "../../../src/projections/core/checkpoint.ts";
import { rebuild } from "../../../src/projections/core/rebuild.ts";
import { runProjections } from "../../../src/projections/core/runner.ts";
import { eventually } from "../../support/app/eventually.ts";
import { context, rowsOf } from "../../support/app/projection.ts";
import { append, parcelsInto, received, sent } from "../../support/package/parcel.ts";
import { testDatabase } from "../../support/store/database.ts";
import { testEventStore } from "../../support/store/event-store.ts";

const { url, db } = await testDatabase();
const { store } = await testEventStore();
const parcel = parcelsInto("parcel");
const logged: string[] = [];
const note = (_fields: object, message: string) => void logged.push(message);
const log = { info: note, warn: note, error: note };
const deps = { databaseUrl: url, db, store, projections: [parcel], context, log };

async function whileRunning(run: () => Promise<void>): Promise<void> {
  const stop = new AbortController();
  const ended = runProjections(deps, stop.signal);
  await run().finally(() => stop.abort());
  await ended;
}
const checkpoint = async () => (await readCheckpoints(db))[0];

describe("a log that was restored older than the read models", () => {
  it("stops them with the way out, and a rebuild goes on with it", async () => {
    const end = await append(store, "parcel-1", sent("Anna"));
    await whileRunning(async () => {
      await eventually(async () => (await checkpoint())?.position === end);
    });
    await db<CheckpointRow>("projection_checkpoint").update({ position: end + 4n });

    await whileRunning(async () => {
      await eventually(async () => (await checkpoint())?.state === "failed");
      const row = await checkpoint();
      expect(row?.failure).to.contain(`ends at position ${end}, but position ${end + 4n}`);
      expect(row?.failure).to.contain("`ledgerforge rebuild`");
      const stopped = () => logged.filter((message) => message === "read models stopped");
      await eventually(() => stopped().length > 0);
      expect(stopped()).to.have.length(1);
    });

    await rebuild(deps, [parcel], { signal: AbortSignal.timeout(120_000) });
    await whileRunning(async () => {
      const next = await append(store, "parcel-1", received);
      await eventually(async () => (await checkpoint())?.position === next);
    });
    expect((await checkpoint())?.state).to.equal("live");
    expect((await rowsOf(db, parcel))[parcel.name]).to.have.length(1);
  });
});
