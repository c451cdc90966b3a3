import { expect } from "chai";

import { throttledLog } from "../../src/platform/throttled-log.ts";

describe("a throttled log", () => {
  it("passes on the first, then one in 30 s with the number of those between", () => {
    let now = 0;
    const reported: (readonly [string, number])[] = [];
    const report = throttledLog<string>(
      (value, suppressed) => reported.push([value, suppressed]),
      () => now,
    );
    for (const [at, value] of [
      [0, "a"],
      [1, "b"],
      [29_999, "c"],
      [30_000, "d"],
      [60_001, "e"],
    ] as const) {
      now = at;
      report(value);
    }
    expect(reported).to.deep.equal([
      ["a", 0],
      ["d", 2],
      ["e", 0],
    ]);
  });
});
