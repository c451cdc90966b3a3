import { jsonEvent } from "@eventstore/db-client";
import { expect } from "chai";

import type { Recorded } from "../../../src/events/core/event.ts";
import { allProjections } from "../../../src/projections/all.ts";
import { foreignEvents } from "../../../src/projections/audit/foreign-event.ts";
import { checkHead } from "../../../src/projections/audit/head-check.ts";
import { checkLog } from "../../../src/projections/audit/log-check.ts";
import { logTreeProjection, wholeTree } from "../../../src/projections/audit/log-tree.ts";
import { readCheckpoints } from "../../../src/projections/core/checkpoint.ts";
import { feed } from "../../../src/projections/core/feed.ts";
import { countedWholeUpTo, wholeLog } from "../../../src/projections/core/whole-log.ts";
import { context, project, reset } from "../../support/app/projection.ts";
import { append, sent } from "../../support/package/parcel.ts";
import { testDatabase } from "../../support/store/database.ts";
import { testEventStore, testEventStoreClientOf } from "../../support/store/event-store.ts";

const { db } = await testDatabase();
const { store, url } = await testEventStore();
const client = testEventStoreClientOf(url);
const { signal } = new AbortController();
const nothing = (): void => undefined;
const log = { info: nothing, warn: nothing, error: nothing };

/** Nested so deeply that no code that calls itself comes to the end of it. */
const nested = JSON.parse(`${"[".repeat(3_000)}${"]".repeat(3_000)}`) as unknown[];

const whole = async (): Promise<readonly Recorded[]> => {
  const events: Recorded[] = [];
  for await (const event of store.readAll(await wholeLog(db))) events.push(event);
  return events;
};

describe("events of other applications in the log", () => {
  before(async () => {
    await append(store, "parcel-1", sent("Anna"));
    await client.appendToStream("$settings", jsonEvent({ type: "update-default-acl", data: {} }));
    await client.appendToStream("orders-1", [
      jsonEvent({ type: "IssueOpened", data: { title: 7 } }),
      jsonEvent({ type: "Ordered", data: { nested } as never }),
    ]);
    await append(store, "parcel-1", sent("Boris"));
  });
  beforeEach(async () => {
    for (const projection of allProjections) await reset(db, projection);
    await db("projection_feed").update({ position: -1 });
    await db("counted_whole").update({ up_to: -1 });
  });

  it("stop no read model, are counted and proved, and enter no other", async () => {
    const events = await whole();
    const upTo = events.at(-1)?.position ?? -1n;
    const deps = { db, store, projections: allProjections, context, log };
    await feed(deps, { after: -1n, upTo, events });
    const stopped = (await readCheckpoints(db)).filter(({ state }) => state !== "live");
    expect(stopped).to.deep.equal([]);
    expect(await foreignEvents(db)).to.include({
      ...{ events: 2n, first_stream: "orders-1", first_type: "IssueOpened" },
      last_position: events[2]?.position,
    });
    expect(await db("audit_entry").select("type")).to.have.length(2);
    const tree = await wholeTree(db);
    expect(tree.size).to.equal(4n);
    expect(await checkLog({ db, store }, { signal })).to.deep.equal({ equal: true, head: tree });
  });

  it("are proved by where they stand alone", async () => {
    const events = await whole();
    await project(db, logTreeProjection, events);
    const changed = (change: Partial<Recorded>) => ({
      ...store,
      async *readAll() {
        for (const event of events) {
          yield event.type === "Ordered" ? ({ ...event, ...change } as Recorded) : event;
        }
      },
    });
    const check = async (change: Partial<Recorded>) =>
      (await checkLog({ db, store: changed(change) }, { signal })).equal;
    expect(await check({ data: { other: 1 } })).to.equal(true);
    expect(await check({ stream: "orders-2" })).to.equal(false);
  });

  it("keep heads of earlier releases provable, which counted all of each", async () => {
    await db("counted_whole").update({ up_to: await store.head() });
    // As such a release did, up to an event that it could not count.
    const events = (await whole()).filter(({ type }) => type !== "Ordered");
    await project(db, logTreeProjection, events);
    const head = await wholeTree(db);
    expect(head.size).to.equal(4n);
    const others = { ...store, readAll: (options = {}) => without(store.readAll(options)) };
    const upTo = await countedWholeUpTo(db);
    expect((await checkHead(others, head, signal, upTo)).equal).to.equal(true);
    expect((await checkHead(others, head, signal)).equal).to.equal(false);
    expect((await checkLog({ db, store: others }, { signal })).equal).to.equal(true);
  });

  async function* without(events: AsyncIterable<Recorded>): AsyncGenerator<Recorded> {
    for await (const event of events) if (event.type !== "Ordered") yield event;
  }

  it("are not called unchanged when the tree has not come to them", async () => {
    await project(db, logTreeProjection, (await whole()).slice(0, 1));
    const check = await checkLog({ db, store }, { signal });
    expect(check).to.deep.include({ equal: true, newer: 3n });
  });
});
