import { expect } from "chai";

import { migrate } from "../../src/platform/migrate.ts";
import { testDatabase } from "../support/store/database.ts";

const { db } = await testDatabase();

describe("migrate", () => {
  const applied = async (): Promise<string[]> =>
    (await db.withSchema("public").from("knex_migrations").orderBy("id")).map(({ name }) => name);

  it("makes the tables that are not read models", async () => {
    expect(await db.schema.withSchema("public").hasTable("vault_key")).to.equal(true);
  });

  it("names migrations without the extension, so that a build continues the source tree", async () => {
    for (const name of await applied()) expect(name).to.match(/^\d{14}_[a-z0-9_]+$/);
  });

  it("does nothing the second time, also when several processes start at once", async () => {
    const before = await applied();
    await Promise.all([migrate(db), migrate(db), migrate(db)]);
    expect(await applied()).to.deep.equal(before);
  });

  it("goes on after a process died while migrating", async () => {
    const before = await applied();
    const last = before.at(-1)!;
    await db.withSchema("public").from("knex_migrations_lock").update({ is_locked: 1 });

    await migrate(db);

    expect((await applied()).at(-1)).to.equal(last);
    const [lock] = await db.withSchema("public").from("knex_migrations_lock");
    expect(lock).to.include({ is_locked: 0 });
  });
});
