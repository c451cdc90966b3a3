import { BACKWARDS, END, FORWARDS, START, StreamNotFoundError } from "@eventstore/db-client";
import { expect } from "chai";

import { itOfEmbedded, testEventStoreClient } from "../../support/store/event-store.ts";
import { collect, newStream, numbersIn, testEvents } from "../../support/store/test-event.ts";

const client = await testEventStoreClient();

describe("reading a stream", () => {
  const stream = newStream();
  before(() => client.appendToStream(stream, testEvents(200)));
  const all = Array.from({ length: 200 }, (_, n) => n);
  const newestFirst = all.toReversed();

  for (const [direction, fromRevision, maxCount, expected] of [
    [FORWARDS, START, undefined, all],
    [FORWARDS, START, 3, [0, 1, 2]],
    [FORWARDS, 198n, undefined, [198, 199]],
    [FORWARDS, 199n, 1, [199]],
    [FORWARDS, 200n, undefined, []],
    [FORWARDS, END, undefined, []],
    [BACKWARDS, END, undefined, newestFirst],
    [BACKWARDS, END, 2, [199, 198]],
    [BACKWARDS, 1n, undefined, [1, 0]],
    [BACKWARDS, 1_000n, 1, [199]],
    [BACKWARDS, START, undefined, [0]],
  ] as const) {
    const test = direction === FORWARDS && fromRevision === END ? itOfEmbedded : it;
    test(`${direction} from ${fromRevision}, at most ${maxCount ?? "all"}`, async () => {
      const limit = maxCount === undefined ? {} : { maxCount };
      const reading = client.readStream(stream, { direction, fromRevision, ...limit });
      expect(await numbersIn(reading)).to.deep.equal(expected);
    });
  }

  it("fails for a stream that does not exist", async () => {
    const absent = newStream();
    const reading = collect(client.readStream(absent));
    await expect(reading).to.be.rejectedWith(StreamNotFoundError, absent);
  });

  it("ends when the reader stops in the middle", async () => {
    for await (const { event } of client.readStream(stream)) {
      if (event!.revision === 5n) break;
    }
    expect(await numbersIn(client.readStream(stream, { maxCount: 1 }))).to.deep.equal([0]);
  });
});

describe("reading the log", () => {
  const stream = newStream();
  let positions: { commit: bigint; prepare: bigint }[];
  before(async () => {
    await client.appendToStream(stream, testEvents(100));
    const events = await collect(client.readStream(stream));
    positions = events.map(({ event }) => event!.position!);
  });

  it("gives positions that grow", () => {
    const commits = positions.map(({ commit }) => commit);
    expect(commits).to.deep.equal(commits.toSorted((a, b) => Number(a - b)));
    expect(new Set(commits).size).to.equal(100);
    expect(commits[0]! > 0n).to.equal(true);
  });

  it("begins at the position when reading forwards", async () => {
    const options = { fromPosition: positions[97]!, maxCount: 2 };
    const events = await collect(client.readAll(options));
    expect(events.map(({ event }) => event!.position)).to.deep.equal(positions.slice(97, 99));
  });

  it("begins before the position when reading backwards", async () => {
    const options = { direction: BACKWARDS, fromPosition: positions[2]!, maxCount: 2 } as const;
    const events = await collect(client.readAll(options));
    const expected = [positions[1], positions[0]];
    expect(events.map(({ event }) => event!.position)).to.deep.equal(expected);
  });

  it("reads all there is from the start, in the order of positions", async () => {
    const events = await collect(client.readAll());
    const mine = events.filter(({ event }) => event!.streamId === stream);
    expect(mine.map(({ event }) => event!.position)).to.deep.equal(positions);
    const commits = events.map(({ event }) => event!.position!.commit);
    expect(commits.every((commit, at) => at === 0 || commit > commits[at - 1]!)).to.equal(true);
  });

  it("reads backwards from the end what it reads forwards from the start", async () => {
    const ids = (await collect(client.readAll())).map(({ event }) => event!.id);
    const options = { direction: BACKWARDS, fromPosition: END } as const;
    const back = await collect(client.readAll(options));
    // Another client may have written to a shared server in between.
    const known = back.map(({ event }) => event!.id).filter((id) => ids.includes(id));
    expect(known).to.deep.equal(ids.toReversed());
  });

  it("has nothing after its end and nothing before its start", async () => {
    expect(await collect(client.readAll({ fromPosition: END }))).to.deep.equal([]);
    const backwards = { direction: BACKWARDS, fromPosition: START } as const;
    expect(await collect(client.readAll(backwards))).to.deep.equal([]);
  });
});
