import { expect } from "chai";

import { checkReadiness, health } from "../../../../src/http/api/ops/health.ts";
import type { EventStore } from "../../../../src/platform/event-store/event-store.ts";
import { StoreUnavailable } from "../../../../src/platform/event-store/event-store.ts";
import { openPostgres } from "../../../../src/platform/postgres.ts";
import { startTestApp } from "../../../support/app/app.ts";
import { eventually } from "../../../support/app/eventually.ts";
import { serveRoutes } from "../../../support/app/machinery.ts";
import { changeCheckpoints } from "../../../support/app/projection.ts";

const app = await startTestApp();
const { deps } = app;

const deadStore: EventStore = {
  ...deps.store,
  ping: async () => {
    throw new StoreUnavailable("gone");
  },
};

describe("health", () => {
  it("is live as soon as the process answers", async () => {
    expect((await app.get("/health/live")).body).to.deep.equal({ status: "ok" });
  });

  it("is ready when every store answers and every read model shows everything", async () => {
    await app.givenUser("anna");
    const ready = await eventually(async () => {
      const answer = await app.get("/health/ready");
      return answer.status === 200 ? answer : undefined;
    });
    const { status, stores, projections } = ready!.body;
    expect({ status, stores }).to.deep.equal({
      status: "ok",
      stores: { events: "ok", database: "ok" },
    });
    expect(projections).to.be.an("array").that.is.not.empty;
    for (const projection of projections as Record<string, unknown>[]) {
      expect(projection).to.include({ state: "live", lagPositions: 0, lagSeconds: 0 });
    }
    expect(ready!.headers.get("cache-control")).to.equal("no-store");
  });

  it("names the store that is gone, without saying where it is", async () => {
    const { url } = await serveRoutes([], { before: [health({ ...deps, store: deadStore })] });
    const response = await fetch(`${url}/health/ready`);
    const text = await response.text();
    expect(response.status).to.equal(503);
    expect(JSON.parse(text)).to.deep.include({
      status: "not ready",
      stores: { events: "unreachable", database: "ok" },
    });

    const nowhere = openPostgres("postgres://nobody:secret@127.0.0.1:1/nothing");
    const readiness = await checkReadiness({ ...deps, db: nowhere });
    expect(readiness).to.deep.include({ ready: false });
    expect(readiness.stores).to.deep.equal({ events: "ok", database: "unreachable" });
    expect(text + JSON.stringify(readiness.stores)).not.to.match(/secret|127\.0\.0\.1/);
    await nowhere.destroy();
  });

  it("names the read model that has stopped", async () => {
    const failed = { state: "failed", failure: "column e_mail of anna@example.org" };
    await changeCheckpoints(app.deps.db, (all) => all.where({ name: "user" }).update(failed));
    try {
      const { ready, projections } = await checkReadiness(deps);
      expect(ready).to.equal(false);
      const stopped = projections.filter(({ state }) => state === "failed");
      expect(stopped.map(({ name }) => name)).to.deep.equal(["user"]);
      expect(JSON.stringify(stopped, (_, value) => String(value))).not.to.contain("anna@");
    } finally {
      const live = { state: "live", failure: null };
      await changeCheckpoints(app.deps.db, (all) => all.update(live));
    }
  });

  it("checks the stores once for many requests", async () => {
    let pings = 0;
    const counted: EventStore = {
      ...deps.store,
      ping: async (timeoutMs) => {
        pings += 1;
        return deps.store.ping(timeoutMs);
      },
    };
    const { url } = await serveRoutes([], { before: [health({ ...deps, store: counted })] });
    const start = performance.now();
    await Promise.all(Array.from({ length: 40 }, () => fetch(`${url}/health/ready`)));
    // What they said holds for half a second.
    expect(pings).to.be.lessThan(4 + (performance.now() - start) / 500);
  });

  it("has nothing else", async () => {
    expect((await app.get("/health/secrets")).status).to.equal(404);
    expect((await app.post("/health/ready")).status).to.equal(404);
  });
});
