import { expect } from "chai";

import { ByteBudget } from "../../../../src/http/registry/proxy/byte-budget.ts";
import { asCaller } from "../../../../src/platform/caller-share.ts";
import { codeOf } from "../../../support/refused.ts";

describe("room for what is fetched", () => {
  const takeAs = (room: ByteBudget, caller: string, bytes: number) =>
    asCaller(caller, () => room.take(bytes));

  it("is so large for all and smaller for one caller, whoever makes a hold grow", () => {
    const room = new ByteBudget(100, 60);
    const anna = takeAs(room, "anna", 50);
    anna.reach(40);
    expect(anna.bytes).to.equal(50);
    expect(codeOf(() => takeAs(room, "anna", 11))).to.equal("registry.busy");
    const bob = takeAs(room, "bob", 40);
    expect(codeOf(() => asCaller("bob", () => anna.reach(61)))).to.equal("registry.busy");
    anna.reach(60);
    expect(codeOf(() => bob.reach(41))).to.equal("registry.busy");
    expect(codeOf(() => room.take(1))).to.equal("registry.busy");
  });

  it("is given back once, also what was more than there is", () => {
    const room = new ByteBudget(100, 60);
    const hold = takeAs(room, "anna", 10);
    hold.set(200);
    expect(codeOf(() => takeAs(room, "bob", 1))).to.equal("registry.busy");
    hold.leave();
    hold.leave();
    hold.reach(50);
    hold.set(50);
    takeAs(room, "anna", 60);
    takeAs(room, "bob", 40);
    expect(codeOf(() => takeAs(room, "carl", 1))).to.equal("registry.busy");
  });
});
