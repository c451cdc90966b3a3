import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { z } from "zod";

import type { Slice } from "../../../src/commands/core/decider.ts";
import { currentState, handle } from "../../../src/commands/core/handle.ts";
import type { EventStore } from "../../../src/platform/event-store/event-store.ts";
import { metadataFor } from "../../support/app/history.ts";
import { testEventStore } from "../../support/store/event-store.ts";

const { store } = await testEventStore();

type Add = Readonly<{ amount: number }>;
const events = { Added: z.object({ amount: z.number() }) } as const;
const sum: Slice<number, Add, typeof events> = {
  events,
  stream: (id) => `sum-${id}`,
  initialState: 0,
  decide: (_, { amount }) => [{ type: "Added", data: { amount } }],
  evolve: (total, { data }) => total + data.amount,
};
/** The same stream, with another meaning. */
const count: typeof sum = {
  ...sum,
  evolve: (total) => total + 1,
};

describe("handling commands on a long stream", () => {
  let read = 0;
  const watched: EventStore = {
    ...store,
    async *readStream(...args) {
      for await (const event of store.readStream(...args)) {
        read += 1;
        yield event;
      }
    },
  };
  const order = (id: string, amount: number, commandId: string = randomUUID()) => ({
    id,
    command: { amount },
    metadata: metadataFor(commandId),
  });

  /** Its stream has so many events of 1, which this process has read. */
  async function summed(length: number): Promise<string> {
    const id = randomUUID();
    const added = Array.from({ length }, () => ({
      id: randomUUID(),
      type: "Added",
      data: { amount: 1 },
      metadata: metadataFor(randomUUID()),
    }));
    await store.append(sum.stream(id), "none", added);
    expect(await currentState(watched, sum, id)).to.equal(length);
    read = 0;
    return id;
  }

  it("reads the events since it was read before", async () => {
    const id = await summed(150);
    for (const amount of [10, 20, 30]) await handle(watched, sum, order(id, amount));
    expect(read, "the own events of the first two").to.equal(2);
    expect(await currentState(watched, sum, id)).to.equal(150 + 60);
  });

  it("reads a short stream whole", async () => {
    const id = await summed(50);
    await handle(watched, sum, order(id, 10));
    expect(read).to.equal(50);
  });

  it("counts what another process wrote", async () => {
    const id = await summed(150);
    const other: EventStore = { ...store };
    await handle(other, sum, order(id, 1_000));
    expect(await currentState(watched, sum, id)).to.equal(1_150);
    expect(read).to.equal(1);
  });

  it("answers a command that is repeated as the first time, however long ago that was", async () => {
    const id = await summed(150);
    const first = order(id, 10);
    const { position } = await handle(watched, sum, first);
    for (const amount of [20, 30]) await handle(watched, sum, order(id, amount));
    expect(await handle(watched, sum, first)).to.deep.equal({ position });
    expect(await currentState(watched, sum, id)).to.equal(150 + 60);
  });

  it("takes a command for new whose id begins like that of another", async () => {
    const id = await summed(150);
    const first = order(id, 10);
    await handle(watched, sum, first);
    await currentState(watched, sum, id);
    const like = `${first.metadata.commandId.slice(0, 8)}${randomUUID().slice(8)}`;
    await handle(watched, sum, order(id, 20, like));
    expect(await currentState(watched, sum, id)).to.equal(150 + 30);
  });

  it("keeps the states of two slices of one stream apart", async () => {
    const id = await summed(150);
    await handle(watched, sum, order(id, 100));
    expect(await currentState(watched, count, id)).to.equal(151);
    expect(await currentState(watched, sum, id)).to.equal(250);
  });

  it("decides by both of two commands that come at once", async () => {
    const id = await summed(150);
    await Promise.all([1, 2, 3, 4].map((amount) => handle(watched, sum, order(id, amount))));
    expect(await currentState(watched, sum, id)).to.equal(160);
  });
});
