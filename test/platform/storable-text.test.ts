import { expect } from "chai";

import { isStorableValue, storableValue } from "../../src/platform/storable-text.ts";

describe("a value for the stores", () => {
  it("stays the same object where every store can keep it", () => {
    for (const value of [
      "text",
      1,
      null,
      true,
      [],
      {},
      { a: [{ b: "c" }, null], d: "\u{1f600}" },
    ]) {
      expect(isStorableValue(value)).to.equal(true);
      expect(storableValue(value)).to.equal(value);
    }
  });

  it("has its texts and keys replaced however deep they are, and nothing else", () => {
    const half = "\ud83d";
    const value = { [`k${half}`]: 1, list: ["a", { text: "b\0" }], number: 2 };
    for (const one of [value, { [`k${half}`]: 1 }, { list: value.list }, value.list]) {
      expect(isStorableValue(one)).to.equal(false);
    }
    expect(storableValue(value)).to.deep.equal({
      "k\ufffd": 1,
      list: ["a", { text: "b\ufffd" }],
      number: 2,
    });
  });
});
