import { once } from "node:events";
import { Readable } from "node:stream";
import { expect } from "chai";

import { SentMemory } from "../../../../../src/http/protocol/package/core/sent.ts";
import { asCaller } from "../../../../../src/platform/caller.ts";

const max = { bytes: 10, callerBytes: 6 };

/** An answer of these pieces that nobody reads. */
function hold(memory: SentMemory, caller: string, ...pieces: readonly Buffer[]): Readable {
  const body = Readable.from(pieces, { objectMode: false });
  asCaller(caller, () => memory.hold(body, pieces));
  return body;
}

async function close(body: Readable): Promise<void> {
  body.destroy();
  await once(body, "close");
}

describe("the memory of answers that are sent", () => {
  it("is bounded, of all callers together and of each, until they are closed", async () => {
    const memory = new SentMemory(max);
    const first = hold(memory, "anna", Buffer.alloc(5));
    expect(() => hold(memory, "anna", Buffer.alloc(2))).to.throw("Too many large indexes");
    const second = hold(memory, "boris", Buffer.alloc(5));
    expect(() => hold(memory, "carla", Buffer.alloc(1))).to.throw("Too many large indexes");
    await close(first);
    expect(memory.bytes).to.equal(5);
    await close(hold(memory, "anna", Buffer.alloc(2)));
    await close(second);
    expect(memory.bytes).to.equal(0);
  });

  it("counts what answers share once", async () => {
    const memory = new SentMemory(max);
    const piece = Buffer.alloc(6);
    const all = [1, 2, 3].map(() => hold(memory, "anna", piece));
    expect(memory.bytes).to.equal(6);
    for (const [index, body] of all.entries()) {
      await close(body);
      expect(memory.bytes).to.equal(index < 2 ? 6 : 0);
    }
  });

  it("takes one answer of any size", async () => {
    const memory = new SentMemory(max);
    const body = hold(memory, "anna", Buffer.alloc(50));
    expect(() => hold(memory, "boris", Buffer.alloc(1))).to.throw("Too many large indexes");
    await close(body);
    expect(memory.bytes).to.equal(0);
  });
});
