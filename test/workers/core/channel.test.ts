import { expect } from "chai";

import { Channel } from "../../../src/workers/core/channel.ts";

describe("a channel", () => {
  it("gives what was sent, in order", async () => {
    const channel = new Channel<number>(3);
    for (const value of [1, 2, 3]) await channel.send(value);
    expect(await take(channel, 3)).to.deep.equal([1, 2, 3]);
  });

  it("gives what is sent to a receiver that waits already", async () => {
    const channel = new Channel<number>(1);
    const taken = take(channel, 2);
    await channel.send(1);
    await channel.send(2);
    expect(await taken).to.deep.equal([1, 2]);
  });

  it("gives what waits at once, and lets the sender go on", async () => {
    const channel = new Channel<number>(2);
    const sending = (async () => {
      for (const value of [1, 2, 3]) await channel.send(value);
    })();
    await new Promise((resolve) => setImmediate(resolve));
    expect(channel.take(10)).to.deep.equal([1, 2]);
    await sending;
    expect(channel.take(0)).to.deep.equal([]);
    expect(channel.take(10)).to.deep.equal([3]);
    expect(channel.take(10)).to.deep.equal([]);
    await channel.send(4);
    channel.close();
    expect(channel.take(10)).to.deep.equal([]);
  });

  it("holds up the sender while it is full", async () => {
    const channel = new Channel<number>(1);
    const sent: number[] = [];
    const sending = (async () => {
      for (const value of [1, 2, 3]) {
        await channel.send(value);
        sent.push(value);
      }
    })();
    await new Promise((resolve) => setImmediate(resolve));
    expect(sent).to.deep.equal([1]);
    expect(await take(channel, 3)).to.deep.equal([1, 2, 3]);
    await sending;
  });

  it("lets go of sender and receiver when closed, and keeps nothing", async () => {
    const channel = new Channel<number>(1);
    await channel.send(1);
    const blocked = channel.send(2);
    channel.close();
    await blocked;
    expect(await take(channel, 1)).to.deep.equal([]);

    const empty = new Channel<number>(1);
    const waiting = take(empty, 1);
    empty.close();
    expect(await waiting).to.deep.equal([]);
  });

  it("waits until so many are there, for a time, or until it is closed", async () => {
    const channel = new Channel<number>(3);
    await channel.filled(1, 1);
    const filled = channel.filled(2, 60_000);
    await channel.send(1);
    let full = false;
    void filled.then(() => {
      full = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(full).to.equal(false);
    await channel.send(2);
    await filled;
    await channel.filled(2, 60_000);
    const closing = channel.filled(3, 60_000);
    channel.close();
    await closing;
  });
});

async function take<Value>(channel: Channel<Value>, count: number): Promise<Value[]> {
  const values: Value[] = [];
  for await (const value of channel) {
    values.push(value);
    if (values.length === count) break;
  }
  return values;
}
