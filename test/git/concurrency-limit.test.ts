import { expect } from "chai";

import { ConcurrencyLimit } from "../../src/git/concurrency-limit.ts";
import { Refusal } from "../../src/platform/refusal.ts";

const slots = (over = {}) =>
  new ConcurrencyLimit({ slotsMax: 2, perCallerMax: 1, waitMs: 5_000, waitersMax: 2, ...over });

describe("slots for packs", () => {
  it("are given while there are any, and one after another when there are none", async () => {
    const bounded = slots();
    const leaveAnna = await bounded.enter("anna");
    const leaveBob = await bounded.enter("bob");
    let carl = false;
    const waiting = bounded.enter("carl").then((leave) => {
      carl = true;
      return leave;
    });
    await new Promise(setImmediate);
    expect(carl).to.equal(false);

    leaveAnna();
    (await waiting)();
    leaveBob();
    expect(carl).to.equal(true);
  });

  it("are not all taken by one caller, nor does that caller hold up the line", async () => {
    const bounded = slots();
    const leaveFirst = await bounded.enter("anna");
    const second = bounded.enter("anna");
    const leaveBob = await bounded.enter("bob");

    leaveFirst();
    (await second)();
    leaveBob();
  });

  it("are refused after a while, and at once when the line is long", async () => {
    const bounded = slots({ waitMs: 20 });
    await bounded.enter("anna");
    const waiting = [bounded.enter("anna"), bounded.enter("anna")];
    await expect(bounded.enter("anna")).to.be.rejectedWith(Refusal);
    for (const one of waiting) await expect(one).to.be.rejectedWith(Refusal);
  });

  it("are not kept for who has gone, nor are they waited for by them", async () => {
    const bounded = slots({ slotsMax: 1, waitersMax: 1 });
    const leave = await bounded.enter("anna");
    const leaving = new AbortController();
    const gone = bounded.enter("bob", leaving.signal);
    leaving.abort();
    await expect(gone).to.be.rejectedWith(Refusal, "gone");
    await expect(bounded.enter("bob", leaving.signal)).to.be.rejectedWith(Refusal, "gone");
    const carl = bounded.enter("carl");
    leave();
    (await carl)();
  });

  it("count once, however often they are given back", async () => {
    const bounded = slots({ slotsMax: 1, waitMs: 1 });
    const leave = await bounded.enter("anna");
    leave();
    leave();
    await bounded.enter("anna");
    await expect(bounded.enter("bob")).to.be.rejectedWith(Refusal);
    await expect(slots({ slotsMax: 0, waitMs: 1 }).enter("x")).to.be.rejectedWith(Refusal);
  });
});
