import { expect } from "chai";

import { sweepSessions } from "../../../src/workers/access/session-sweep.ts";
import { startTestApp } from "../../support/app/app.ts";
import { eventually } from "../../support/app/eventually.ts";
import { browser } from "../../support/client/browser.ts";

const app = await startTestApp();

describe("the sweep of sessions", () => {
  it("ends those that were idle for too long, and records it in the event log", async () => {
    const [anna, boris] = [await app.givenUser("anna"), await app.givenUser("boris")];
    for (const user of [anna, boris]) await browser(app.url).logIn(user);
    const past = new Date(Date.now() - 31 * 60_000);
    const { db, store } = app.deps;
    await db("session").where({ user_id: anna.id }).update({ opened_at: past });

    await sweepSessions({ ...app.platform, ...app.deps } as never);
    await eventually(async () => (await db("session").where({ user_id: anna.id })).length === 0);
    expect(await db("session").where({ user_id: boris.id })).to.have.length(1);
    const ends: unknown[] = [];
    for await (const { type, data } of store.readAll())
      if (type === "SessionClosed") ends.push(data);
    expect(ends).to.have.length(1);
    expect(ends[0]).to.include({ reason: "IDLE", closedById: null });
  });
});
