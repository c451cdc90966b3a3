import { expect } from "chai";
import {
  consistencyPath,
  emptyRoot,
  GrowingTree,
  inclusionPath,
  leafHash,
  nodeHash,
  type Range,
  rangeHash,
} from "../../../src/projections/audit/merkle.ts";
import { provesConsistency, provesInclusion } from "../../support/client/log-proof.ts";

const leafAt = (n: number): Buffer => leafHash(Buffer.from(`event ${n}`));

/** The definition itself (RFC 9162, 2.1.1), to compare with the growing tree. */
function rootOf(leaves: readonly Buffer[]): Buffer {
  if (leaves.length === 0) return emptyRoot;
  if (leaves.length === 1) return leaves[0]!;
  let half = 1;
  while (half * 2 < leaves.length) half *= 2;
  return nodeHash(rootOf(leaves.slice(0, half)), rootOf(leaves.slice(half)));
}

function grown(count: number) {
  const tree = new GrowingTree();
  const nodes = new Map<string, Buffer>();
  const roots = [tree.root()];
  for (let n = 0; n < count; n += 1) {
    for (const { level, index, hash } of tree.add(leafAt(n))) nodes.set(`${level} ${index}`, hash);
    roots.push(tree.root());
  }
  const hashes = (path: readonly Range[]) =>
    path.map((range) => rangeHash(range, ({ level, index }) => nodes.get(`${level} ${index}`)!));
  return { roots, hashes, nodes };
}

describe("the Merkle tree over the log", () => {
  const { roots, hashes } = grown(70);

  it("has the roots of the definition at every size", () => {
    const leaves = Array.from({ length: 70 }, (_, n) => leafAt(n));
    for (const [size, root] of roots.entries()) {
      expect(root.equals(rootOf(leaves.slice(0, size))), `${size}`).to.equal(true);
    }
  });

  it("hashes as other implementations of the RFC do", () => {
    expect(leafHash(Buffer.alloc(0)).toString("hex")).to.equal(
      "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    );
    expect(emptyRoot.toString("hex")).to.equal(
      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    );
  });

  it("proves every leaf at every size, and no other leaf", () => {
    for (let size = 1; size <= 70; size += 1) {
      const root = roots[size]!;
      for (let leaf = 0; leaf < size; leaf += 1) {
        const path = hashes(inclusionPath(BigInt(leaf), BigInt(size)));
        const claim = { leaf: BigInt(leaf), size: BigInt(size), root };
        expect(provesInclusion({ ...claim, hash: leafAt(leaf) }, path)).to.equal(true);
        expect(provesInclusion({ ...claim, hash: leafAt(leaf + 1) }, path)).to.equal(false);
      }
    }
  });

  it("proves that each tree is the beginning of each later one, and of no other", () => {
    for (let to = 1; to <= 70; to += 1) {
      for (let from = 0; from <= to; from += 1) {
        const [earlier, later] = [
          { size: BigInt(from), root: roots[from]! },
          { size: BigInt(to), root: roots[to]! },
        ];
        const path = hashes(consistencyPath(BigInt(from), BigInt(to)));
        expect(provesConsistency(earlier, later, path), `${from} ${to}`).to.equal(true);
        if (from === 0) continue;
        const forged = { ...earlier, root: leafAt(999) };
        expect(provesConsistency(forged, later, path)).to.equal(false);
      }
    }
  });

  it("has proofs of a length that grows with the logarithm of the log", () => {
    expect(inclusionPath(4_999_999n, 10_000_000n)).to.have.length.at.most(24);
    expect(consistencyPath(4_999_999n, 10_000_000n)).to.have.length.at.most(25);
    const nodes = inclusionPath(9_999_998n, 10_000_000n).flat();
    expect(nodes).to.have.length.at.most(48);
  });

  it("shows what was changed, removed, inserted or moved at every place of a log of 100,000", () => {
    const count = 100_000;
    const tree = new GrowingTree();
    const levels: Buffer[][] = [];
    for (let n = 0; n < count; n += 1) {
      for (const { level, index, hash } of tree.add(leafAt(n))) {
        levels[level] ??= [];
        levels[level][Number(index)] = hash;
      }
    }
    const root = tree.root();
    const hashOf = ({ level, index }: { level: number; index: bigint }) =>
      levels[level]![Number(index)]!;
    const forged = leafAt(-1);
    const is = (n: number) => levels[0]![n] ?? leafAt(n);
    /** Which leaf is where after an event is changed, removed, inserted, or moved behind the next one. */
    const tampered = (n: number): readonly ((at: number) => Buffer)[] => [
      (at) => (at === n ? forged : is(at)),
      (at) => is(at < n ? at : at + 1),
      (at) => (at === n ? forged : is(at < n ? at : at - 1)),
      (at) => is(at === n ? n + 1 : at === n + 1 ? n : at),
    ];
    let missed = 0;
    for (let n = 0; n < count; n += 1) {
      const [leaf, size] = [BigInt(n), BigInt(count)];
      // Each makes the leaf of this place another one, which changes its parent, and so every node above.
      for (const leafAfter of tampered(n)) if (leafAfter(n).equals(is(n))) missed += 1;
      const [left, right] = n % 2 === 0 ? [forged, is(n + 1)] : [is(n - 1), forged];
      if (nodeHash(left, right).equals(levels[1]![n >> 1]!)) missed += 1;
      // Only every 50th proof is made to the root.
      if (n % 50 !== 0) continue;
      const path = inclusionPath(leaf, size).map((range) => rangeHash(range, hashOf));
      if (!provesInclusion({ leaf, size, hash: leafAt(n), root }, path)) missed += 1;
      if (provesInclusion({ leaf, size, hash: forged, root }, path)) missed += 1;
    }
    expect(missed).to.equal(0);
  });
});
