import { expect } from "chai";

import { Slots } from "../../../../src/http/registry/proxy/slots.ts";
import { asCaller } from "../../../../src/platform/caller-share.ts";
import { codeOf } from "../../../support/app/refused.ts";

describe("slots for what is fetched", () => {
  it("are so many for all and fewer for one caller, and are given back once", () => {
    const slots = new Slots(3, 2);
    const take = (caller: string) => asCaller(caller, () => slots.take());
    const leave = take("anna");
    take("anna");
    expect(codeOf(() => take("anna"))).to.equal("registry.busy");
    take("bob");
    expect(codeOf(() => take("bob"))).to.equal("registry.busy");
    leave();
    leave();
    take("bob");
    expect(codeOf(() => take("carl"))).to.equal("registry.busy");
  });
});
