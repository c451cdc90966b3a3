import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { PartedMap } from "../../../src/commands/core/parted-map.ts";

describe("a map in parts", () => {
  it("has what was put in last, and nothing that was taken out", () => {
    const known = new Map<string, number>();
    let map: PartedMap<number> = PartedMap.empty;
    for (let index = 0; index < 2_000; index += 1) {
      const id = randomUUID();
      map = map.with(id, -1).with(id, index);
      known.set(id, index);
      if (index % 3 !== 0) continue;
      map = map.without(id);
      known.delete(id);
      expect(map.get(id)).to.equal(undefined);
    }
    for (const [id, value] of known) expect(map.get(id)).to.equal(value);
  });

  it("leaves the map alone that it was made of", () => {
    const [one, other] = [randomUUID(), randomUUID()];
    const before = PartedMap.empty.with(one, 1);
    before.with(other, 2);
    before.with(one, 3);
    before.without(one);
    expect([before.get(one), before.get(other)]).to.deep.equal([1, undefined]);
  });
});
