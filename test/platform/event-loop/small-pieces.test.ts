import { expect } from "chai";

import { waitTurn } from "../../../src/platform/event-loop/small-pieces.ts";
import { eventually } from "../../support/app/eventually.ts";

describe("turns of connections with small pieces", () => {
  it("are taken by callers, however many connections one of them has", async () => {
    const seen: string[] = [];
    const read = (caller: string, times = 1): void => {
      waitTurn(caller, () => {
        seen.push(caller);
        if (times > 1) read(caller, times - 1);
      });
    };
    for (let connection = 0; connection < 20; connection += 1) read("many", 5);
    read("one", 5);
    read("other", 5);
    await eventually(() => seen.length === 110);
    for (const caller of ["one", "other"]) expect(seen.lastIndexOf(caller)).to.be.below(20);
  });

  it("come one in a turn of the event loop", async () => {
    let inTurn = 0;
    let most = 0;
    let left = 30;
    for (let at = 0; at < 30; at += 1) {
      waitTurn(`caller-${at % 3}`, () => {
        inTurn += 1;
        most = Math.max(most, inTurn);
        left -= 1;
        setImmediate(() => {
          inTurn = 0;
        });
        if (left % 5 === 0) waitTurn("late", () => undefined);
      });
    }
    await eventually(() => left === 0);
    expect(most).to.equal(1);
  });
});
