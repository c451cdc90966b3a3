import { expect } from "chai";
import { chainNext, chainStart, eventDigest } from "../../../src/events/core/canonical.ts";
import type { Recorded } from "../../../src/events/core/event.ts";
import type { EventStore } from "../../../src/platform/event-store/event-store.ts";
import { auditEntryProjection } from "../../../src/projections/audit/entry.ts";
import { checkLog, type LogCheck, type Mark } from "../../../src/projections/audit/log-check.ts";
import { logTreeProjection, wholeTree } from "../../../src/projections/audit/log-tree.ts";
import { context, project, reset } from "../../support/app/projection.ts";
import { append, sent } from "../../support/package/parcel.ts";
import { testDatabase } from "../../support/store/database.ts";
import { testEventStore } from "../../support/store/event-store.ts";

const { db } = await testDatabase();
const { store } = await testEventStore();
const { signal } = new AbortController();

/** The log as an attacker with access to the disks might have left it. */
function changed(change: (log: Recorded[]) => void): EventStore {
  return {
    ...store,
    async *readAll() {
      const log: Recorded[] = [];
      for await (const event of store.readAll()) log.push(event);
      change(log);
      yield* log;
    },
  };
}

async function check(log: EventStore = store, expected?: Mark): Promise<LogCheck> {
  return checkLog({ db, store: log }, { signal, ...(expected && { expected }) });
}

const firstOf = (result: LogCheck) => (result.equal ? "nothing" : result.first);

describe("verifying the log", () => {
  before(async () => {
    for (let n = 0; n < 25; n += 1) {
      await append(store, `parcel-${n}`, ...Array.from({ length: 100 }, () => sent("Anna")));
    }
  });
  beforeEach(async () => {
    const log: Recorded[] = [];
    for await (const event of store.readAll()) log.push(event);
    for (const projection of [auditEntryProjection, logTreeProjection]) {
      await reset(db, projection);
      for (let n = 0; n < log.length; n += 1_000) {
        await project(db, projection, log.slice(n, n + 1_000), context);
      }
    }
  });

  it("finds an untouched log unchanged", async () => {
    expect(await check()).to.deep.equal({ equal: true, head: await wholeTree(db) });
  });

  it("does not mind events that came after the head", async () => {
    await append(store, "parcel-new", sent("Boris"));
    expect((await check()).equal).to.equal(true);
  });

  it("names an event that was changed", async () => {
    const log = changed((events) => {
      events[1_234] = { ...events[1_234]!, data: { to: "Mallory" } };
    });
    const result = await check(log);
    expect(firstOf(result)).to.match(/^ParcelSent at \d+ in parcel-12 was changed$/);
    expect(result).to.deep.include({ equal: false });
  });

  it("names an event that is missing, at the end as well", async () => {
    expect(firstOf(await check(changed((events) => void events.splice(700, 1))))).to.match(
      /in parcel-7 is missing$/,
    );
    const ended = changed((events) => void events.splice(2_400));
    expect(firstOf(await check(ended))).to.match(/in parcel-24 is missing$/);
  });

  it("names an event that was added", async () => {
    const between = changed((events) => {
      events.splice(11, 0, { ...events[10]!, stream: "parcel-x" });
    });
    expect(firstOf(await check(between))).to.match(/was added$/);
  });

  it("notices two events that changed places", async () => {
    const log = changed((events) => {
      [events[5], events[6]] = [events[6]!, events[5]!];
    });
    expect((await check(log)).equal).to.equal(false);
  });

  it("notices a leaf and a head that were changed", async () => {
    const { edge } = await db("log_tree_head").first();
    await db("log_tree_head").update({ edge: Buffer.alloc(edge.length) });
    expect(firstOf(await check())).to.match(/with the leaves of the tree, but not with its head$/);
    await db("log_tree_leaf")
      .where({ index: 1_000 })
      .update({ hash: Buffer.alloc(32) });
    expect(firstOf(await check())).to.match(/in parcel-10 was changed$/);
  });

  it("proves a past that was changed and rebuilt by a mark kept outside", async () => {
    const { size: events, root: hash } = await wholeTree(db);
    expect((await check(store, { events, hash })).equal).to.equal(true);
    expect((await check(store, { events: 1_500n, hash })).equal).to.equal(false);
    expect((await check(store, { events: events + 5n, hash })).equal).to.equal(false);
  });

  it("takes the end of the hash chain that older releases printed", async () => {
    let [events, hash] = [0n, chainStart];
    for await (const event of store.readAll()) {
      [events, hash] = [events + 1n, chainNext(hash, eventDigest(event))];
      if (events === 1_700n) break;
    }
    expect((await check(store, { events, hash })).equal).to.equal(true);
    expect(firstOf(await check(store, { events: 1_699n, hash }))).to.match(/not with the mark$/);
  });

  it("has nothing to say of an empty log", async () => {
    await reset(db, logTreeProjection);
    const nothing = changed((events) => void events.splice(0));
    expect((await check(nothing)).equal).to.equal(true);
  });
});
