import { expect } from "chai";

import type { TreeEntry } from "../../src/git/object/object.ts";
import type { ObjectReader } from "../../src/git/object/reader.ts";
import { compareTrees } from "../../src/git/tree-walk.ts";

const entriesCount = 200_000;

/** One directory with very many entries. */
function reading(kind: "file" | "directory"): Pick<ObjectReader, "tree" | "info"> {
  const entries = Array.from({ length: entriesCount }, (_, index) => ({
    ...{ name: `e${index}`, kind, id: "1".repeat(40), mode: "100644" },
  }));
  return {
    tree: async () => entries as unknown as readonly TreeEntry[],
    info: async () => ({ type: "tree", bytes: 1_000 }),
  } as unknown as Pick<ObjectReader, "tree" | "info">;
}

describe("comparing trees", () => {
  for (const kind of ["file", "directory"] as const) {
    it(`is refused for a ${kind} more than may be compared, however many one tree has`, async () => {
      const trees = { before: undefined, after: "2".repeat(40) };
      await expect(compareTrees(reading(kind), trees)).to.be.rejectedWith(/too large|more than/i);
    });
  }
});
