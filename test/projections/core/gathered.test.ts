import { expect } from "chai";
import { untilGathered } from "../../../src/projections/core/gathered.ts";
import { testDatabase } from "../../support/database.ts";
import { eventually } from "../../support/eventually.ts";

const { db } = await testDatabase();

const move = (name: string, position: number) =>
  db("projection_feed").where({ name }).update({ position });

describe("waiting for the gathered read models", () => {
  beforeEach(async () => {
    await move("answers", 7);
    await move("gathered", 5);
  });

  it("ends when they show what answers show", async () => {
    let ended = false;
    const waiting = untilGathered(db, 60_000).then(() => {
      ended = true;
    });
    await move("gathered", 6);
    let looks = 0;
    db.on("query", () => {
      looks += 1;
    });
    await eventually(() => looks > 3);
    expect(ended).to.equal(false);
    await move("gathered", 7);
    await waiting;
  });

  it("does not wait for what answers show later", async () => {
    await move("gathered", 7);
    const waiting = untilGathered(db, 60_000);
    await move("answers", 9);
    await waiting;
  });

  it("is refused after its limit", async () => {
    await expect(untilGathered(db, 30)).to.be.rejectedWith("does not show yet");
  });
});
