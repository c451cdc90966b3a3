import { randomUUID } from "node:crypto";
import { expect } from "chai";

import type { Order } from "../../../src/embedded/event-store/batch.ts";
import type { ProposedEvent } from "../../../src/embedded/event-store/event.ts";
import { StoreFailure } from "../../../src/embedded/event-store/failure.ts";
import { Writer } from "../../../src/embedded/event-store/writer.ts";
import { randomNumbers } from "../../support/app/random.ts";
import { testDatabase } from "../../support/store/database.ts";

const deadline = Date.now() + 3_600_000;
const onOutage = (error: unknown): void => {
  throw error;
};

async function testWriter(): Promise<Writer> {
  let writer: Writer | undefined;
  // Before the hook that drops the database.
  after(() => writer?.close());
  const { url } = await testDatabase();
  writer = new Writer({ databaseUrl: url, lockWaitMs: 1_000, onOutage });
  await writer.open();
  return writer;
}

const event = (data = "{}"): ProposedEvent => ({
  id: randomUUID(),
  type: "Noted",
  isJson: true,
  data: Buffer.from(data),
  metadata: Buffer.from("{}"),
});
const append = (
  stream: string,
  expected: Order["expected"],
  ...events: ProposedEvent[]
): Order => ({
  stream,
  expected,
  work: { kind: "append", events: events.length === 0 ? [event()] : events },
});

const outcomeOf = (writer: Writer, order: Order): Promise<object> =>
  writer.write(order, deadline).then(
    ({ revision, position }) => ({ revision, position }),
    (error: unknown) => (error instanceof StoreFailure ? error.failure : Promise.reject(error)),
  );

const cold = await testWriter();
const warm = await testWriter();

describe("an event store that does not know where streams end", () => {
  it("reads the metadata that an append to it takes the place of", async () => {
    const stream = randomUUID();
    const ends: unknown[] = [];
    for (const writer of [cold, warm]) {
      await writer.write(append(stream, "no_stream"), deadline);
      await writer.write({ stream, expected: "any", work: { kind: "delete" } }, deadline);
      const end = writer.heads.get(stream);
      if (writer === cold) {
        // The end of the stream is known still, that of its metadata forgotten.
        cold.heads.clear();
        cold.heads.set(stream, end!);
      }
      await writer.write(append(`$$${stream}`, 0n, event("{}")), deadline);
      ends.push(writer.heads.get(`$$${stream}`));
    }
    expect(ends[0]).to.deep.equal(ends[1]);
    expect(ends[1], "what was deleted stays hidden").to.include({ revision: 2n });
  });

  for (const seed of [1, 2, 3]) {
    it(`answers as one that knows, whatever is written, seed ${seed}`, async () => {
      const below = randomNumbers(seed);
      const one = <Item>(items: readonly Item[]): Item => items[below(items.length)] as Item;
      const streams = ["a", "b", "c"].map((name) => `${name}${seed}`);
      const written: Order[] = [];
      const kinds = new Set<string>();
      for (let n = 0; n < 250; n += 1) {
        const orders = Array.from({ length: one([1, 1, 3]) }, () => orderOf(one, streams, written));
        written.push(...orders);
        cold.heads.clear();
        const outcomes = await Promise.all(orders.map((order) => outcomeOf(cold, order)));
        const expected = await Promise.all(orders.map((order) => outcomeOf(warm, order)));
        expect(outcomes, `orders ${n}`).to.deep.equal(expected);
        for (const outcome of outcomes)
          kinds.add("kind" in outcome ? String(outcome.kind) : "written");
      }
      expect([...kinds].sort()).to.include.members([
        "streamDeleted",
        "written",
        "wrongExpectedRevision",
      ]);
    });
  }
});

/** An append, a repetition of one, metadata, or an end. */
function orderOf(
  one: <Item>(items: readonly Item[]) => Item,
  streams: readonly string[],
  written: readonly Order[],
): Order {
  const stream = one([...streams, ...streams, randomUUID()]);
  const last = warm.heads.get(stream)?.revision ?? -1n;
  const end = last < 0n ? "no_stream" : last;
  const expected = one([end, end, end, "no_stream", "any", "stream_exists", 0n, 2n] as const);
  const metadata = one(['{"$maxCount":3}', '{"$tb":2}', "{}"]);
  switch (one([..."aaaaaaaaaarrrmd", ...(written.length > 300 ? "t" : "")])) {
    case "r":
      return written.length > 0 ? one(written.slice(-12)) : append(stream, expected);
    case "m":
      return append(`$$${stream}`, one(["any", "no_stream", 0n]), event(metadata));
    case "d":
      return { stream, expected, work: { kind: "delete" } };
    case "t":
      return { stream, expected, work: { kind: "tombstone" } };
    default:
      return append(stream, expected, ...Array.from({ length: one([1, 1, 2]) }, () => event()));
  }
}
