import { expect } from "chai";

import { trimmedOf, withoutTrailing } from "../../src/platform/trim.ts";

describe("trimming", () => {
  for (const [text, trimmed, both] of [
    ["//a/b//", "//a/b", "a/b"],
    ["a", "a", "a"],
    ["", "", ""],
    ["///", "", ""],
    ["a//b", "a//b", "a//b"],
  ] as const) {
    it(`of ${JSON.stringify(text)} takes away what stands at its ends alone`, () => {
      expect(withoutTrailing(text, "/")).to.equal(trimmed);
      expect(trimmedOf(text, "/")).to.equal(both);
    });
  }

  it("takes any of several characters", () => {
    expect(trimmedOf("._a.b_.", "._")).to.equal("a.b");
  });
});
