import { expect } from "chai";
import { Refusal } from "../../../src/platform/refusal.ts";
import {
  clientDisconnected,
  type PackSlots,
  packSlots,
} from "../../../src/services/git/pack-slots.ts";

const slots = (over: PackSlots = {}) => {
  const bounded = packSlots({ total: 2, share: 1, waitersMax: 2, ...over });
  return {
    async enter(caller: string, signal?: AbortSignal) {
      return (await bounded.enter({ caller, signal })).leave;
    },
  };
};

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
    const bounded = slots({ whenFull: { refuseAfterMs: 20 } });
    await bounded.enter("anna");
    const waiting = [bounded.enter("anna"), bounded.enter("anna")];
    await expect(bounded.enter("anna")).to.be.rejectedWith(Refusal);
    for (const one of waiting) await expect(one).to.be.rejectedWith(Refusal);
  });

  it("are not kept for who has gone, nor are they waited for by them", async () => {
    const bounded = slots({ total: 1, waitersMax: 1 });
    const leave = await bounded.enter("anna");
    const leaving = new AbortController();
    const gone = bounded.enter("bob", leaving.signal);
    leaving.abort(clientDisconnected());
    await expect(gone).to.be.rejectedWith(Refusal, "gone");
    await expect(bounded.enter("bob", leaving.signal)).to.be.rejectedWith(Refusal, "gone");
    const carl = bounded.enter("carl");
    leave();
    (await carl)();
  });

  it("count once, however often they are given back", async () => {
    const bounded = slots({ total: 1, whenFull: { refuseAfterMs: 1 } });
    const leave = await bounded.enter("anna");
    leave();
    leave();
    await bounded.enter("anna");
    await expect(bounded.enter("bob")).to.be.rejectedWith(Refusal);
    await expect(slots({ total: 0, whenFull: { refuseAfterMs: 1 } }).enter("x")).to.be.rejectedWith(
      Refusal,
    );
  });
});
