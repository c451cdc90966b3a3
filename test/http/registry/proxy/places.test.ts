import { expect } from "chai";

import { Places } from "../../../../src/http/registry/proxy/places.ts";
import { asCaller } from "../../../../src/platform/caller-share.ts";
import { codeOf } from "../../../support/refused.ts";

describe("places for what is fetched", () => {
  it("are so many for all and fewer for one caller, and are given back once", () => {
    const places = new Places(3, 2);
    const take = (caller: string) => asCaller(caller, () => places.take());
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
