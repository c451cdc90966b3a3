import { expect } from "chai";
import type { Knex } from "knex";
import pino from "pino";

import { allProjections } from "../../../src/projections/all.ts";
import { install } from "../../../src/projections/core/install.ts";
import type { WorkerDeps } from "../../../src/services/core/deps.ts";
import { runSweeps, type Sweep } from "../../../src/workers/core/sweep.ts";
import { eventually } from "../../support/app/eventually.ts";
import { testDatabase } from "../../support/store/database.ts";

describe("sweeps", () => {
  let db: Knex;
  let log: string[];
  let deps: WorkerDeps;

  before(async () => {
    ({ db } = await testDatabase());
  });
  beforeEach(() => {
    log = [];
    const logger = pino({}, { write: (line: string) => log.push(line) });
    deps = { db, log: logger } as unknown as WorkerDeps;
  });

  async function whileSweeping(
    sweeps: readonly Sweep[],
    own: WorkerDeps,
    run: () => Promise<void>,
  ) {
    const stop = new AbortController();
    const running = runSweeps(sweeps, own, stop.signal);
    try {
      await run();
    } finally {
      stop.abort();
      await running;
    }
  }

  it("wait on a new instance until every read model is there", async () => {
    let looks = 0;
    const swept: string[] = [];
    db.on("query", ({ sql }: { sql: string }) => {
      if (sql.includes("projection_progress") && sql.startsWith("select")) looks += 1;
    });
    await whileSweeping([async () => void swept.push("once")], deps, async () => {
      const [last, ...others] = allProjections;
      for (const each of others) await db.transaction((tx) => install(tx, each, "live"));
      const seen = looks;
      await eventually(() => looks > seen + 1);
      expect(swept).to.deep.equal([]);
      await db.transaction((tx) => install(tx, last!, "behind"));
      await eventually(() => swept.length === 1);
    });
    expect(log).to.deep.equal([]);
  });

  it("go on when one of them fails, and log it", async () => {
    const swept: string[] = [];
    const sweeps: Sweep[] = [
      async () => void swept.push("first"),
      async () => {
        throw new Error("stuck");
      },
      async () => void swept.push("last"),
    ];
    await whileSweeping(sweeps, deps, async () => {
      await eventually(() => swept.includes("last"));
    });
    expect(swept).to.deep.equal(["first", "last"]);
    expect(log.join("")).to.include("sweep failed").and.include("stuck");
  });

  it("wait for a database that is unavailable, and end on abort", async () => {
    const away = (() => {
      throw new Error("away");
    }) as unknown as Knex;
    await whileSweeping([], { ...deps, db: away }, async () => {
      await eventually(() => log.some((line) => line.includes("sweeps wait for the database")));
    });
  });
});
