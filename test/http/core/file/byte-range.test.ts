import { expect } from "chai";

import { byteRange } from "../../../../src/http/core/file/byte-range.ts";

describe("a range of bytes", () => {
  for (const [header, expected] of [
    ["bytes=0-4", { first: 0, last: 4 }],
    ["bytes=3-", { first: 3, last: 9 }],
    ["bytes=-3", { first: 7, last: 9 }],
    ["bytes=-99", { first: 0, last: 9 }],
    ["bytes=5-99", { first: 5, last: 9 }],
    ["bytes=10-", "unsatisfiable"],
    ["bytes=-0", "unsatisfiable"],
    ["bytes=5-4", undefined],
    ["bytes=-", undefined],
    ["bytes=0-1,3-4", undefined],
    ["lines=0-1", undefined],
    ["bytes=99999999999999999-", undefined],
    ["", undefined],
  ] as const) {
    it(`${JSON.stringify(header)} of ten bytes is ${JSON.stringify(expected)}`, () => {
      expect(byteRange(header, 10)).to.deep.equal(expected);
    });
  }

  it("of an empty file cannot be had", () => {
    expect(byteRange("bytes=0-0", 0)).to.equal("unsatisfiable");
  });
});
