import { expect } from "chai";

import { BoundedCache } from "../../src/platform/bounded-cache.ts";

describe("a cache bounded by bytes", () => {
  it("drops what was not used for longest", () => {
    const cache = new BoundedCache<number>(100);
    for (const key of ["a", "b", "c", "d", "e", "f", "g", "h"]) cache.set(key, 1, 12);
    cache.get("a");
    cache.set("i", 1, 12);

    expect(cache.get("a")).to.equal(1);
    expect(cache.get("b")).to.equal(undefined);
    expect(cache.bytes).to.equal(96);
  });

  it("counts a replaced entry once", () => {
    const cache = new BoundedCache<number>(100);
    cache.set("a", 1, 10);
    cache.set("a", 2, 12);

    expect(cache.get("a")).to.equal(2);
    expect(cache.bytes).to.equal(12);
  });

  it("does not keep one entry that would push most others out", () => {
    const cache = new BoundedCache<number>(100);
    cache.set("large", 1, 13);

    expect(cache.get("large")).to.equal(undefined);
    expect(cache.bytes).to.equal(0);
  });
});
