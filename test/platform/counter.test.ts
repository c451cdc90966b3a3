import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { type Counters, openCounters } from "../../src/platform/counter.ts";
import { eventually } from "../support/app/eventually.ts";
import { testDatabase } from "../support/store/database.ts";
import { needsRedis, testRedis } from "../support/store/redis.ts";

const { url: databaseUrl } = await testDatabase();
const redisUrl = await testRedis();

for (const [place, url] of [
  ["PostgreSQL", undefined],
  ["Redis", redisUrl],
] as const) {
  describe(`counters on ${place}`, () => {
    if (place === "Redis") needsRedis();
    let one: Counters;
    let other: Counters;
    before(async () => {
      one = await openCounters({ databaseUrl, redisUrl: url });
      other = await openCounters({ databaseUrl, redisUrl: url });
    });
    after(() => Promise.all([one?.close(), other?.close()]));

    it("count exactly, whichever process counts", async () => {
      const counted = await Promise.all(
        Array.from({ length: 40 }, (_, n) => (n % 2 === 0 ? one : other).add("exact", 60)),
      );
      const counts = counted.map(({ count }) => count).sort((a, b) => a - b);
      expect(counts).to.deep.equal(Array.from({ length: 40 }, (_, n) => n + 1));
      for (const { resetMs } of counted) expect(resetMs).to.be.within(1, 60_000);
      expect((await other.get("exact"))?.count).to.equal(40);
      expect(await other.get("another")).to.equal(undefined);
    });

    it("begin again when the window of the first count is over", async () => {
      let key = "";
      // Both in one window, which a busy machine may miss.
      await eventually(async () => {
        key = `short-${randomUUID()}`;
        await one.add(key, 1);
        return (await one.add(key, 60)).count === 2;
      });
      await eventually(async () => (await one.get(key)) === undefined);
      // In its last millisecond a window is over for the caller, and Redis still counts on it.
      await eventually(async () => (await one.add(key, 60)).count === 1);
    });

    it("can be set and dropped", async () => {
      await one.set("lock", 1, 60);
      expect(await other.get("lock")).to.include({ count: 1 });
      await other.delete("lock");
      expect(await one.get("lock")).to.equal(undefined);
    });
  });
}
