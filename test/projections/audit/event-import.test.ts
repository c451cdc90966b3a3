import { expect } from "chai";

import { eventDigest } from "../../../src/events/core/canonical.ts";
import type { Recorded } from "../../../src/events/core/event.ts";
import { importEvents, OtherLog } from "../../../src/projections/audit/event-import.ts";
import { leafOf } from "../../../src/projections/audit/log-tree.ts";
import { GrowingTree } from "../../../src/projections/audit/merkle.ts";
import { BadLine, readSealedLog, sealedLine } from "../../../src/projections/audit/sealed-log.ts";
import { history } from "../../support/app/history.ts";
import { switchedOff, webhookCreated, webhookDeleted } from "../../support/client/webhook.ts";
import { testEventStore } from "../../support/store/event-store.ts";

const { store } = await testEventStore();
const never = new AbortController().signal;

/** A log of two webhooks, whose positions have gaps as those of EventStoreDB. */
const log: readonly Recorded[] = history(
  ["webhook-1", webhookCreated()],
  ["webhook-1", switchedOff],
  ["webhook-2", webhookCreated()],
  ["webhook-1", webhookDeleted],
  ["webhook-2", webhookDeleted],
).map((event, index) => ({ ...event, position: BigInt(100 * (index + 1)) }));

async function* each<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  yield* items;
}

async function read(lines: readonly string[]): Promise<readonly Recorded[]> {
  const events: Recorded[] = [];
  for await (const event of readSealedLog(each(lines))) events.push(event);
  return events;
}

describe("reading an exported log", () => {
  const lines = log.map(sealedLine);

  it("gives back what was exported", async () => {
    expect((await read(lines)).map(eventDigest)).to.deep.equal(log.map(eventDigest));
  });

  const changed = (index: number, over: object): readonly string[] =>
    lines.map((line, at) =>
      at === index ? JSON.stringify({ ...JSON.parse(line), ...over }) : line,
    );
  const without = (index: number) => lines.filter((_, at) => at !== index);
  for (const [what, wrong, why] of [
    [
      "a line that was cut",
      [...lines.slice(0, 2), lines[2]?.slice(0, 40) ?? ""],
      /^line 3: .*not JSON/,
    ],
    ["an empty line", [...lines.slice(0, 1), "", ...lines.slice(1)], /^line 2: .*not JSON/],
    ["a line that is missing", without(1), /^line 3: webhook-1 has revision 2 where 1 follows/],
    [
      "lines in another order",
      [lines[2], lines[0]] as string[],
      /^line 2: position 100 does not follow on 300/,
    ],
    [
      "an unknown type",
      changed(1, { type: "Nothing" }),
      /^line 2: Nothing: No schema for event type/,
    ],
    [
      "data of another type",
      changed(1, { data: {} }),
      /^line 2: WebhookSwitchedOff: data\.failingSince/,
    ],
    [
      "a secret in clear",
      changed(0, { data: { ...log[0]?.data, secret: "hunter2" } }),
      /^line 1: .*--sealed/,
    ],
    ["no metadata", changed(0, { metadata: undefined }), /^line 1: metadata/],
    ["a stream of the store", changed(0, { stream: "$settings" }), /^line 1: stream must be/],
    ["a number as position", changed(0, { position: 100 }), /^line 1: position/],
    [
      "half of a surrogate pair",
      changed(0, { data: { ...log[0]?.data, url: "\ud800" } }),
      /surrogate/,
    ],
  ] as const) {
    it(`refuses ${what}, and says where`, async () => {
      const error: unknown = await read(wrong).catch((reason: unknown) => reason);
      expect(error).to.be.instanceOf(BadLine);
      expect((error as BadLine).message).to.match(why);
      expect((error as BadLine).message).not.to.include("hunter2");
    });
  }
});

describe("importing a log", () => {
  async function stored(): Promise<readonly Recorded[]> {
    const events: Recorded[] = [];
    for await (const event of store.readAll()) events.push(event);
    return events;
  }

  it("goes on where it was interrupted, and maps positions to those of the new log", async () => {
    const stopped = new AbortController();
    const interrupted = (async function* () {
      yield* log.slice(0, 3);
      // The first stream's events were appended when the second one's came.
      stopped.abort(new Error("killed"));
      yield* log.slice(3);
    })();
    const sizes: number[] = [];
    const beforeFirst = async () => void sizes.push((await stored()).length);
    const options = { signal: stopped.signal, beforeFirst };
    const death: unknown = await importEvents(interrupted, store, options).catch(
      (reason: unknown) => reason,
    );
    expect(death).to.have.property("message", "killed");
    expect(await stored()).to.have.length(2);

    const places = [50n, 100n, 250n, 400n, 900n];
    const imported = await importEvents(each(log), store, { signal: never, places, beforeFirst });
    expect(sizes, "told before the first event of each run").to.deep.equal([0, 2]);
    const there = await stored();
    expect(there.map(eventDigest)).to.deep.equal(log.map(eventDigest));
    const tree = new GrowingTree();
    for (const event of log) tree.add(leafOf(event));
    expect(imported).to.deep.include({ events: 5, root: tree.root() });
    expect(imported.head).to.equal(there[4]?.position);
    const of = (place: bigint) => imported.positions.get(place);
    expect([of(50n), of(100n)]).to.deep.equal([-1n, there[0]?.position]);
    expect([of(250n), of(400n), of(900n)]).to.deep.equal(
      [1, 3, 4].map((index) => there[index]?.position),
    );
  });

  it("changes nothing when it is done again", async () => {
    const head = await store.head();
    const beforeFirst = () => expect.fail("nothing is to be written");
    await importEvents(each(log), store, { signal: never, beforeFirst });
    expect(await store.head()).to.equal(head);
  });

  it("is refused into a log that says something else, or more", async () => {
    const head = await store.head();
    const other = log.map((event, index) =>
      index === 1
        ? { ...event, data: { ...event.data, failingSince: "2025-01-01T00:00:00.000Z" } }
        : event,
    );
    const beforeFirst = () => expect.fail("nothing is to be written");
    for (const events of [other, log.slice(0, 4)]) {
      const options = { signal: never, beforeFirst };
      const error: unknown = await importEvents(each(events), store, options).catch(
        (reason: unknown) => reason,
      );
      expect(error).to.be.instanceOf(OtherLog);
    }
    expect(await store.head()).to.equal(head);
  });
});
