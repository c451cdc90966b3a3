import { expect } from "chai";

import { type Counters, openCounters } from "../../src/platform/counter.ts";
import { testDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { needsRedis, testRedis } from "../support/redis.ts";

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
      for (const { resetMs } of counted) expect(resetMs).to.be.within(50_000, 60_000);
      expect((await other.get("exact"))?.count).to.equal(40);
      expect(await other.get("another")).to.equal(undefined);
    });

    it("begin again when the window of the first count is over", async () => {
      await one.add("short", 1);
      await one.add("short", 60);
      await eventually(async () => (await one.get("short")) === undefined);
      // In its last millisecond a window is over for who asks, and Redis still counts on it.
      await eventually(async () => (await one.add("short", 60)).count === 1, 1_000);
    });

    it("can be set and dropped", async () => {
      await one.set("lock", 1, 60);
      expect(await other.get("lock")).to.include({ count: 1 });
      await other.delete("lock");
      expect(await one.get("lock")).to.equal(undefined);
    });
  });
}
