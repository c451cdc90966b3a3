import { expect } from "chai";

import { runTogether } from "../../../src/platform/postgres/together.ts";
import { openPostgres } from "../../../src/platform/postgres.ts";
import { testDatabase } from "../../support/store/database.ts";

const { url } = await testDatabase();

describe("statements sent together under a limit of time", () => {
  /** Limits that are running, of one statement or several. */
  const limits = (): number =>
    process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;

  it("end it, whether they succeed or fail", async () => {
    const limited = new URL(url);
    limited.searchParams.set("query_timeout", "3600000");
    const db = openPostgres(limited.href, { poolMax: 1 });
    try {
      await runTogether(db, [db.raw("select 1")]);
      const before = limits();
      for (let times = 0; times < 5; times += 1) {
        await runTogether(db, [db.raw("select 1"), db.raw("select 2")]);
        await expect(runTogether(db, [db.raw("select 1 / 0")])).to.be.rejectedWith("by zero");
      }
      // One of the pool may have begun or ended meanwhile.
      expect(limits()).to.be.below(before + 5);
    } finally {
      await db.destroy();
    }
  });

  it("fail when it is over", async () => {
    const limited = new URL(url);
    limited.searchParams.set("query_timeout", "100");
    const db = openPostgres(limited.href, { poolMax: 1 });
    try {
      const sent = runTogether(db, [db.raw("select pg_sleep(1)")]);
      await expect(sent).to.be.rejectedWith("Query read timeout");
    } finally {
      await db.destroy();
    }
  });
});
