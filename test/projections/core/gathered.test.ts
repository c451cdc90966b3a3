import { expect } from "chai";
import { gathered, untilGathered } from "../../../src/projections/core/gathered.ts";
import { eventually } from "../../support/app/eventually.ts";
import { testDatabase } from "../../support/store/database.ts";

const { db } = await testDatabase();

const move = (name: string, position: number) =>
  db("projection_feed").where({ name }).update({ position });
const install = (name: string, feed: string, position: number | null) =>
  db("projection_checkpoint").insert({
    ...{ name, feed, position, version: 1, tables: [], state: "live" },
  });

describe("waiting for the gathered read models", () => {
  beforeEach(async () => {
    await db("projection_checkpoint").delete();
    await install("user", "answers", null);
    await install("chain", "gathered", null);
    await install("tree", "gathered", null);
    await move("answers", 7);
    await move("gathered", 5);
  });

  /** Waits for them until they have been checked a few times. */
  async function waitingFor() {
    const wait = { ended: false, end: Promise.resolve() };
    let looks = 0;
    db.on("query-response", () => {
      looks += 1;
    });
    wait.end = untilGathered(db, 60_000).then(() => {
      wait.ended = true;
    });
    await eventually(() => looks > 3);
    return wait;
  }

  it("ends when they show what answers show", async () => {
    const waiting = await waitingFor();
    expect(waiting.ended).to.equal(false);
    await move("gathered", 7);
    await waiting.end;
  });

  it("gives a row as it is then, not as it was when the wait began", async () => {
    const text = "select position as at from projection_feed where name = ?";
    const reading = gathered(db, { text, bindings: ["gathered"] }, 60_000);
    await move("gathered", 7);
    expect(await reading).to.include({ at: 7n });
  });

  it("does not wait for what answers show later", async () => {
    const waiting = await waitingFor();
    await move("answers", 9);
    await move("gathered", 7);
    await waiting.end;
  });

  it("goes by the positions that they have of their own", async () => {
    await db("projection_checkpoint").where({ feed: "gathered" }).update({ position: 8 });
    await untilGathered(db, 60_000);
    await move("gathered", 9);
    await db("projection_checkpoint").where({ name: "tree" }).update({ position: 6 });
    await expect(untilGathered(db, 30)).to.be.rejectedWith("does not show yet");
  });

  it("is refused at once when one of them has stopped", async () => {
    await move("gathered", 9);
    await db("projection_checkpoint").where({ name: "tree" }).update({ state: "failed" });
    await expect(untilGathered(db, 600_000)).to.be.rejectedWith("does not show yet");
  });

  it("is refused while the tables of an earlier version lack what is read", async () => {
    await move("gathered", 7);
    const reading = () => gathered(db, { text: "select later from projection_feed", bindings: [] });
    await expect(reading()).to.be.rejectedWith('column "later" does not exist');
    await db("projection_checkpoint").where({ name: "tree" }).update({ state: "behind" });
    await expect(reading()).to.be.rejectedWith("does not show yet");
  });

  it("is refused after its limit", async () => {
    const message = "What happened last does not show yet";
    await expect(untilGathered(db, 30)).to.be.rejectedWith(message);
  });
});
