import { expect } from "chai";
import { channel, moveFeed, reread } from "../../../src/projections/core/announce.ts";
import type { CheckpointState } from "../../../src/projections/core/checkpoint.ts";
import {
  untilVisible,
  type Watching,
  watchProjections,
} from "../../../src/projections/progress/visible.ts";
import { eventually } from "../../support/app/eventually.ts";
import { testDatabase } from "../../support/store/database.ts";

const { url, db } = await testDatabase();

const install = (name: string, position: bigint, state: CheckpointState = "live") =>
  db("projection_checkpoint").insert({ name, version: 1, tables: [], position, state });

/** Sends what listeners receive with the commit: a position, or that they must read the checkpoints. */
const announce = (tx: typeof db, payload: bigint | typeof reread) =>
  tx.raw("select pg_notify(?, ?)", [channel, String(payload)]);

/** Moves one checkpoint, as the projections do after a batch. */
async function move(name: string, position: bigint, notify: bigint | "" | undefined) {
  await db.transaction(async (tx) => {
    await tx("projection_checkpoint").where({ name }).update({ position });
    if (notify !== undefined) await announce(tx, notify);
  });
}

/** True when it settled within the time it takes for another query. */
async function settled(promise: Promise<unknown>): Promise<boolean> {
  let done = false;
  const mark = () => {
    done = true;
  };
  promise.then(mark, mark);
  await db.raw("select pg_sleep(0.05)");
  return done;
}

describe("waiting until a position shows", () => {
  let watching: Watching;
  beforeEach(async () => {
    await db("projection_checkpoint").delete();
    await install("slow", 5n);
    await install("fast", 9n);
    watching = await watchProjections({ databaseUrl: url, db, waitMaxMs: 60_000 });
    await watching.visible(5n);
  });

  const listeners = () =>
    db("pg_stat_activity").where({
      application_name: "listen projection",
      datname: db.raw("current_database()"),
    });
  afterEach(() => watching.close());

  it("is over at once when nothing was written or everything shows", async () => {
    await watching.visible(undefined);
    await watching.visible(4n);
  });

  it("lasts until the slowest live projection has passed", async () => {
    const waiting = watching.visible(7n);
    expect(await settled(waiting)).to.equal(false);
    await move("slow", 6n, 6n);
    expect(await settled(waiting)).to.equal(false);
    await move("slow", 7n, 7n);
    await waiting;
  });

  it("is announced with the commit, without a look", async () => {
    const blind = (() => expect.fail("the read models were looked at")) as unknown as typeof db;
    const deaf = await watchProjections({ databaseUrl: url, db: blind, waitMaxMs: 60_000 });
    const waiting = deaf.visible(8n);
    await move("slow", 8n, 8n);
    await waiting;
    await deaf.close();
  });

  it("ends without a notification, too", async () => {
    const waiting = watching.visible(8n);
    await move("slow", 8n, undefined);
    await waiting;
  });

  it("survives the loss of the connection that listens", async () => {
    const terminate = () =>
      db.raw(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where application_name = 'listen projection' and datname = current_database()`,
      );
    const waiting = watching.visible(8n);
    // Those of tests before are about to end.
    await eventually(async () => (await listeners()).length === 1, 30_000);
    expect((await terminate()).rows).to.have.length(1);
    await move("slow", 8n, 8n);
    await waiting;

    await eventually(async () => (await listeners()).length === 1, 30_000);
    const again = watching.visible(9n);
    await move("slow", 9n, 9n);
    await again;
  });

  it("forgets with the connection what it had heard: a crash may have taken it back", async () => {
    await announce(db, 50n);
    await watching.visible(50n);
    await db.raw(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name = 'listen projection' and datname = current_database()`,
    );
    await eventually(async () => !(await settled(watching.visible(50n).catch(() => undefined))));
  });

  it("does not wait for a projection that stopped or is being built", async () => {
    await install("stopped", 1n, "failed");
    await install("building", -1n, "behind");
    await move("slow", 9n, reread);
    await watching.visible(9n);
  });

  it("is refused after its limit, with when to try again", async () => {
    const impatient = await watchProjections({ databaseUrl: url, db, waitMaxMs: 50 });
    const refusal = await impatient.visible(100n).then(
      () => undefined,
      (error) => error,
    );
    await impatient.close();
    expect(refusal).to.deep.include({ kind: "unavailable", code: "projection.lagging" });
    expect(refusal.details).to.deep.equal({ retryAfterSeconds: 1 });
  });

  it("gets the positions of the feed", async () => {
    const heard: bigint[] = [];
    watching.onPosition((position) => void heard.push(position));
    await moveFeed(db, { from: -1n, to: 20n, live: [] });
    await eventually(() => heard.length > 0);
    expect(heard).to.deep.equal([20n]);
    expect(await db("projection_feed").pluck("position")).to.deep.equal([20n]);
  });

  it("is refused when nothing is live yet", async () => {
    await db("projection_checkpoint").delete();
    const impatient = await watchProjections({ databaseUrl: url, db, waitMaxMs: 50 });
    await expect(impatient.visible(0n)).to.be.rejectedWith("does not show yet");
    await impatient.close();
  });

  it("is not refused as a change to who has made none", async () => {
    const impatient = await watchProjections({ databaseUrl: url, db, waitMaxMs: 50 });
    const refusal = await untilVisible(impatient.visible, 1_000n).catch((error) => error);
    await impatient.close();
    expect(refusal).to.include({ kind: "unavailable", code: "projection.lagging" });
    expect(refusal.message).to.equal(
      "What happened last does not show yet. Try again in a moment.",
    );
    const other = new Error("cannot be read");
    const failing = untilVisible(() => Promise.reject(other), 1n);
    expect(await failing.catch((error) => error)).to.equal(other);
  });

  it("ends for everybody who still waits when it closes", async () => {
    const waiting = watching.visible(100n);
    await watching.close();
    await expect(waiting).to.be.rejectedWith("does not show yet");
  });
});
