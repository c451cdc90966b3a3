import { expect } from "chai";

import { openPostgres } from "../../../src/platform/postgres.ts";
import { mustBeCaughtUp } from "../../../src/projections/progress/caught-up.ts";
import { eventually } from "../../support/app/eventually.ts";
import { testDatabase } from "../../support/store/database.ts";

const { db: unchecked, url } = await testDatabase();

describe("connections after a crash of PostgreSQL", () => {
  const log = { head: 0n, queries: 0 };
  const store = {
    async head() {
      log.queries += 1;
      return log.head;
    },
  };
  const open = (waitMaxMs: number) => {
    const db = openPostgres(url, { onConnect: mustBeCaughtUp(store, { waitMaxMs }) });
    opened.push(db);
    return db;
  };
  const opened: ReturnType<typeof openPostgres>[] = [];

  beforeEach(async () => {
    await unchecked("projection_checkpoint").delete();
    await given("one", "live", 7);
    await given("two", "live", 9);
    // Crash recovery empties the table.
    await unchecked("postgres_run").delete();
    Object.assign(log, { head: 9n, queries: 0 });
  });
  afterEach(async () => {
    for (const db of opened.splice(0)) await db.destroy();
  });

  it("are refused while a live read model is behind the head of the log", async () => {
    const error = await open(50)
      .raw("select 1")
      .then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
    expect(error).to.include({ name: "ReadModelsBehind", code: "57P03" });
    // The server forgets a session a moment after it was closed.
    const sessions = () => unchecked("pg_stat_activity").where({ datname: databaseName(url) });
    await eventually(async () => (await sessions()).length === 1, 30_000);
  });

  it("are ready as soon as the read models have passed the head", async () => {
    // The query is sent once a caller waits for it.
    const reading = open(60_000)
      .raw("select 1")
      .then(() => true);
    await eventually(() => log.queries > 0);
    await unchecked("projection_checkpoint").where({ name: "one" }).update({ position: 9n });
    await reading;
  });

  it("are ready at once when it is noted that the read models have caught up", async () => {
    await unchecked("projection_checkpoint").update({ position: 9n });
    await open(60_000).raw("select 1");
    await unchecked("projection_checkpoint").update({ position: 3n });
    await open(60_000).raw("select 1");
    expect(log.queries).to.equal(1);
  });

  it("wait for no read model that is being built again", async () => {
    await unchecked("projection_checkpoint").where({ name: "one" }).update({ state: "behind" });
    await open(60_000).raw("select 1");
  });

  it("are refused when the log does not answer", async () => {
    const never = { head: () => new Promise<undefined>(() => undefined) };
    const db = openPostgres(url, { onConnect: mustBeCaughtUp(never, { waitMaxMs: 50 }) });
    opened.push(db);
    const error = await db.raw("select 1").then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).to.include({ name: "StoreUnavailable" });
  });

  const given = (name: string, state: string, position: number) =>
    unchecked("projection_checkpoint").insert({ name, version: 1, position, state, tables: [] });
});

const databaseName = (url: string): string => new URL(url).pathname.slice(1);
