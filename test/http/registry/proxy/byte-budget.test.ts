import { expect } from "chai";

import { ByteBudget } from "../../../../src/http/registry/proxy/byte-budget.ts";
import { asCaller } from "../../../../src/platform/caller-share.ts";
import { codeOf } from "../../../support/app/refused.ts";

describe("the budget of bytes for what is fetched", () => {
  const takeAs = (budget: ByteBudget, caller: string, bytes: number) =>
    asCaller(caller, () => budget.take(bytes));

  it("is limited for all callers and more tightly for each, whichever caller grows a hold", () => {
    const budget = new ByteBudget(100, 60);
    const anna = takeAs(budget, "anna", 50);
    anna.reach(40);
    expect(anna.bytes).to.equal(50);
    expect(codeOf(() => takeAs(budget, "anna", 11))).to.equal("registry.busy");
    const bob = takeAs(budget, "bob", 40);
    expect(codeOf(() => asCaller("bob", () => anna.reach(61)))).to.equal("registry.busy");
    anna.reach(60);
    expect(codeOf(() => bob.reach(41))).to.equal("registry.busy");
    expect(codeOf(() => budget.take(1))).to.equal("registry.busy");
  });

  it("is given back once, also what was more than there is", () => {
    const budget = new ByteBudget(100, 60);
    const hold = takeAs(budget, "anna", 10);
    hold.set(200);
    expect(codeOf(() => takeAs(budget, "bob", 1))).to.equal("registry.busy");
    hold.leave();
    hold.leave();
    hold.reach(50);
    hold.set(50);
    takeAs(budget, "anna", 60);
    takeAs(budget, "bob", 40);
    expect(codeOf(() => takeAs(budget, "carl", 1))).to.equal("registry.busy");
  });
});
