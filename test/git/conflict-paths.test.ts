import { expect } from "chai";

import { conflictsListedMax, MergeOutput, shortened } from "../../src/git/conflict-paths.ts";

const treeId = "e".repeat(40);

/** What is known after git printed these records, in chunks of so many bytes. */
function readFrom(records: readonly string[], chunkBytes = 64 * 1024): MergeOutput {
  const output = new MergeOutput(["a".repeat(40), "b".repeat(40)]);
  const all = Buffer.from(records.map((record) => `${record}\0`).join(""));
  for (let from = 0; from < all.length; from += chunkBytes) {
    output.take(all.subarray(from, from + chunkBytes));
  }
  return output;
}

describe("paths in conflict", () => {
  it("are read however git's output is cut, also in the middle of a character", () => {
    for (const chunkBytes of [1, 2, 3, 41, 1_000]) {
      const read = readFrom([treeId, "a", "dir/é€", "z\n"], chunkBytes);
      const conflicts = ["a", "dir/é€", "z\n"];
      expect({ ...read }).to.deep.include({ treeId, conflicts, conflictsCount: 3 });
    }
    expect({ ...readFrom([treeId]) }).to.deep.include({ treeId, conflicts: [], conflictsCount: 0 });
  });

  it("are those of a side where git renamed one that had no place, each once", () => {
    const [ours, theirs] = ["a".repeat(40), "b".repeat(40)];
    const names = ["dir-1", `dir~${ours}`, "link", `link~${theirs}_0`, `other~${"c".repeat(40)}`];
    const { conflicts, conflictsCount } = readFrom([treeId, ...names]);
    const expected = ["dir", "dir-1", "link", `other~${"c".repeat(40)}`];
    expect([conflicts, conflictsCount]).to.deep.equal([expected, 4]);
  });

  it("are counted beyond the 1,000 or the 64 KiB that are kept", () => {
    const many = Array.from({ length: 5_000 }, (_, index) => `file-${index}`);
    const short = readFrom([treeId, ...many]);
    expect(short.conflicts).to.deep.equal(many.slice(0, 1_000));
    expect(short.conflictsCount).to.equal(5_000);
    const long = readFrom([treeId, ...many.map((name) => name.padEnd(1_024, "x"))], 1_000);
    expect(long.conflicts).to.have.length(64);
    expect(long.conflictsCount).to.equal(5_000);
    const endless = readFrom([treeId, "x".repeat(1024 ** 2), "y"], 999);
    expect({ ...endless }).to.deep.include({ conflicts: [], conflictsCount: 2 });
  });

  it("are at most 100 or 8 KiB in a list", () => {
    const names = (length: number) =>
      Array.from({ length: 200 }, (_, index) => String(index).padEnd(length, "x"));
    expect(shortened(names(5), conflictsListedMax)).to.deep.equal(names(5).slice(0, 100));
    expect(shortened(names(1_024), conflictsListedMax)).to.have.length(8);
    expect(shortened(names(10_000), conflictsListedMax)).to.deep.equal([]);
    expect(shortened(["a", "b"], conflictsListedMax)).to.deep.equal(["a", "b"]);
  });
});
