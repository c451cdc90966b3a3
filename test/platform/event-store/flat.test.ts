import { expect } from "chai";

import { flat } from "../../../src/platform/event-store/flat.ts";
import { collect } from "../../support/store/test-event.ts";

describe("the items of pages", () => {
  let ended: boolean;
  let begun: number;

  async function* given(...pages: readonly (readonly number[] | Error)[]) {
    [ended, begun] = [false, 0];
    try {
      for (const page of pages) {
        begun += 1;
        if (page instanceof Error) throw page;
        yield page;
      }
    } finally {
      ended = true;
    }
  }

  it("come one after another, over pages without any", async () => {
    expect(await collect(flat(given([], [1, 2], [], [], [3], [])))).to.deep.equal([1, 2, 3]);
    expect(await collect(flat(given()))).to.deep.equal([]);
  });

  it("come no more once they have ended", async () => {
    const items = flat(given([1]));
    expect(await items.next()).to.deep.equal({ done: false, value: 1 });
    for (let times = 0; times < 2; times += 1) {
      expect(await items.next()).to.deep.equal({ done: true, value: undefined });
    }
  });

  it("end the reading of pages when nobody wants more, in the middle of a page", async () => {
    for await (const item of flat(given([1, 2, 3], [4]))) if (item === 2) break;
    expect([ended, begun]).to.deep.equal([true, 1]);
    const items = flat(given([1, 2]));
    await items.next();
    await items.return?.();
    expect(await items.next()).to.deep.equal({ done: true, value: undefined });
  });

  it("fail with what the reading of pages fails with, after those before", async () => {
    const items = flat(given([1, 2], new Error("cut")));
    expect([(await items.next()).value, (await items.next()).value]).to.deep.equal([1, 2]);
    await expect(items.next()).to.be.rejectedWith("cut");
    expect(await items.next()).to.deep.equal({ done: true, value: undefined });
  });
});
