import { expect } from "chai";
import { openRoom, type Quota } from "../../../../src/platform/blob/room.ts";
import { givenUploads } from "../../../support/project/uploads.ts";

const { app, holds } = await givenUploads();

describe("room in a quota", () => {
  const quota = (key: string, taken = 0): Quota => ({
    key,
    allowedBytes: 100,
    takenBytes: async () => taken,
  });

  it("ends with the process that took it", async () => {
    const { db } = app.deps;
    await openRoom(db, quota("killed"), 100).reach(100);
    const next = openRoom(db, quota("killed"), 100);
    expect(await next.reach(100).catch((error) => error.code)).to.equal("project.full");
    // As a killed process leaves it: renewed no more.
    await db("public.quota_hold")
      .where("quota", "killed")
      .update({ held_until: new Date(0) });
    await next.reach(100);
    await next.release();
    expect(await holds()).to.equal(0);
  });

  it("is left to the smaller of two when the larger does not fit", async () => {
    const { db } = app.deps;
    const [large, small] = [openRoom(db, quota("two", 50), 80), openRoom(db, quota("two", 50), 40)];
    const ends = await Promise.allSettled([large.reach(80), small.reach(40)]);
    expect(ends.map(({ status }) => status)).to.deep.equal(["rejected", "fulfilled"]);
    await small.release();
  });
});
