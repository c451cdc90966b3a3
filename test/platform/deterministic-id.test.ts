import { expect } from "chai";
import { z } from "zod";
import { deterministicId } from "../../src/platform/deterministic-id.ts";

describe("deterministicId", () => {
  it("gives the same UUID for the same parts", () => {
    expect(deterministicId("a", 1)).to.equal(deterministicId("a", 1));
    expect(z.uuid().safeParse(deterministicId("a", 1)).success).to.equal(true);
  });

  it("distinguishes parts that would read the same when joined", () => {
    expect(deterministicId("a", "bc")).not.to.equal(deterministicId("ab", "c"));
    expect(deterministicId("a", "")).not.to.equal(deterministicId("a"));
  });
});
