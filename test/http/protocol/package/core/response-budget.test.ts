import { once } from "node:events";
import { Readable } from "node:stream";
import { expect } from "chai";

import { ResponseBudget } from "../../../../../src/http/protocol/package/core/response-budget.ts";
import { asCaller } from "../../../../../src/platform/caller.ts";

const max = { bytes: 10, callerBytes: 6 };

/** An answer of these pieces that nobody reads. */
function hold(budget: ResponseBudget, caller: string, ...pieces: readonly Buffer[]): Readable {
  const body = Readable.from(pieces, { objectMode: false });
  asCaller(caller, () => budget.hold(body, pieces));
  return body;
}

async function close(body: Readable): Promise<void> {
  body.destroy();
  await once(body, "close");
}

describe("the memory of answers that are sent", () => {
  it("is bounded, of all callers together and of each, until they are closed", async () => {
    const budget = new ResponseBudget(max);
    const first = hold(budget, "anna", Buffer.alloc(5));
    expect(() => hold(budget, "anna", Buffer.alloc(2))).to.throw("Too many large indexes");
    const second = hold(budget, "boris", Buffer.alloc(5));
    expect(() => hold(budget, "carla", Buffer.alloc(1))).to.throw("Too many large indexes");
    await close(first);
    expect(budget.bytes).to.equal(5);
    await close(hold(budget, "anna", Buffer.alloc(2)));
    await close(second);
    expect(budget.bytes).to.equal(0);
  });

  it("counts what answers share once", async () => {
    const budget = new ResponseBudget(max);
    const piece = Buffer.alloc(6);
    const all = [1, 2, 3].map(() => hold(budget, "anna", piece));
    expect(budget.bytes).to.equal(6);
    for (const [index, body] of all.entries()) {
      await close(body);
      expect(budget.bytes).to.equal(index < 2 ? 6 : 0);
    }
  });

  it("takes one answer of any size", async () => {
    const budget = new ResponseBudget(max);
    const body = hold(budget, "anna", Buffer.alloc(50));
    expect(() => hold(budget, "boris", Buffer.alloc(1))).to.throw("Too many large indexes");
    await close(body);
    expect(budget.bytes).to.equal(0);
  });
});
