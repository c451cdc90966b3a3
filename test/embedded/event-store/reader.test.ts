import { randomUUID } from "node:crypto";
import { expect } from "chai";
import pg from "pg";

import { type Page, Reader } from "../../../src/embedded/event-store/reader.ts";
import { StreamHeads } from "../../../src/embedded/event-store/stream-heads.ts";
import { Writer } from "../../../src/embedded/event-store/writer.ts";
import { testDatabase } from "../../support/store/database.ts";

const stream = "test-1";
const stored = 100;
let reader: Reader;
const closing: (() => Promise<void>)[] = [];
// Before the hook that drops the database.
after(async () => {
  for (const close of closing) await close();
});
const { url: databaseUrl } = await testDatabase();

before(async () => {
  const onOutage = (error: unknown): void => {
    throw error;
  };
  const writer = new Writer({ databaseUrl, lockWaitMs: 1_000, onOutage });
  closing.push(() => writer.close());
  await writer.open();
  const events = Array.from({ length: stored }, () => ({
    id: randomUUID(),
    type: "Noted",
    isJson: true,
    data: Buffer.from("{}"),
    metadata: Buffer.from("{}"),
  }));
  const order = { stream, expected: "no_stream", work: { kind: "append", events } } as const;
  await writer.write(order, Date.now() + 60_000);
  const pool = new pg.Pool({ connectionString: databaseUrl });
  closing.push(() => pool.end());
  reader = new Reader(pool, new StreamHeads());
});

async function countOf(pages: AsyncIterable<Page>): Promise<number> {
  let count = 0;
  for await (const page of pages) count += page.length;
  return count;
}

describe("a read of so many events", () => {
  const part = { from: 0n, to: 2n ** 62n, createdMin: 0n };
  const reads: Readonly<Record<string, (wanted?: bigint) => AsyncIterable<Page>>> = {
    "the log": (wanted) => reader.allForwards(0n, wanted),
    "the log backwards": (wanted) => reader.allBackwards(2n ** 62n, wanted),
    "a stream": (wanted) => reader.streamForwards(stream, part, wanted),
    "a stream backwards": (wanted) => reader.streamBackwards(stream, part, wanted),
  };

  for (const [name, read] of Object.entries(reads)) {
    it(`of ${name} takes no others from PostgreSQL`, async () => {
      for (const wanted of [0, 1, 31, 32, 33, 50, stored]) {
        expect(await countOf(read(BigInt(wanted)))).to.equal(wanted);
      }
      expect(await countOf(read(1_000n))).to.equal(stored);
      expect(await countOf(read())).to.equal(stored);
    });
  }
});
