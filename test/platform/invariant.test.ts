import { expect } from "chai";
import { invariant, unreachable } from "../../src/platform/invariant.ts";

describe("invariant", () => {
  it("passes what holds and names what does not", () => {
    expect(() => invariant(true, "fine")).not.to.throw();
    expect(() => invariant(0, "count is positive")).to.throw("count is positive");
  });

  it("names the value that should not exist", () => {
    expect(() => unreachable("x" as never)).to.throw('"x"');
  });
});
