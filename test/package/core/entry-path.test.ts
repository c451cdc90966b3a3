import { expect } from "chai";

import { entryPaths } from "../../../src/package/core/entry-path.ts";

describe("the paths of an archive", () => {
  it("are at most as many as their reader takes", () => {
    const plain = entryPaths(2);
    for (const name of ["a", "b"]) expect(plain(name)).to.equal(name);
    expect(() => plain("c")).to.throw("at most 2 files");
  });
});
