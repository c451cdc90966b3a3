import { sha256 } from "../../events/core/sha256.ts";

/** A complete subtree: the `index`th of its height, over 2^level leaves. */
export type NodeId = Readonly<{ level: number; index: bigint }>;
export type NodeHash = (node: NodeId) => Buffer;

export const hashBytes = 32;
const ofLeaf = Buffer.of(0);
const ofNode = Buffer.of(1);

/** RFC 9162, 2.1.1: leaves and nodes are hashed apart, so that no node passes for a leaf. */
export const leafHash = (data: Buffer): Buffer => sha256(Buffer.concat([ofLeaf, data]));

export const nodeHash = (left: Buffer, right: Buffer): Buffer =>
  sha256(Buffer.concat([ofNode, left, right]));

/** Root of a tree without leaves. */
export const emptyRoot: Buffer = sha256("");

/** The hash of some leaves, by the complete subtrees it is made of, widest first. */
export type Range = readonly NodeId[];

/** @param start a multiple of the largest power of two that is not over `count` */
export function rangeOf(start: bigint, count: bigint): Range {
  const nodes: NodeId[] = [];
  let at = start;
  for (let rest = count; rest > 0n; ) {
    const level = rest.toString(2).length - 1;
    nodes.push({ level, index: at >> BigInt(level) });
    at += 1n << BigInt(level);
    rest -= 1n << BigInt(level);
  }
  return nodes;
}

export function rangeHash(range: Range, hashOf: NodeHash): Buffer {
  const hashes = range.map(hashOf);
  const last = hashes.pop();
  if (last === undefined) return emptyRoot;
  return hashes.reduceRight((right, left) => nodeHash(left, right), last);
}

const largestBelow = (count: bigint): bigint => 1n << BigInt((count - 1n).toString(2).length - 1);

/** RFC 9162, 2.1.3.1: what proves that a leaf is in the tree of the first `size` leaves. */
export function inclusionPath(leaf: bigint, size: bigint): readonly Range[] {
  const path: Range[] = [];
  let [start, count] = [0n, size];
  while (count > 1n) {
    const half = largestBelow(count);
    if (leaf - start < half) {
      path.push(rangeOf(start + half, count - half));
      count = half;
    } else {
      path.push(rangeOf(start, half));
      start += half;
      count -= half;
    }
  }
  return path.reverse();
}

/** RFC 9162, 2.1.4.1: what proves that the first tree is the beginning of the second. */
export function consistencyPath(from: bigint, to: bigint): readonly Range[] {
  if (from === 0n || from === to) return [];
  const path: Range[] = [];
  let [start, count, first, isWhole] = [0n, to, from, true];
  while (first !== count) {
    const half = largestBelow(count);
    if (first <= half) {
      path.push(rangeOf(start + half, count - half));
      count = half;
    } else {
      path.push(rangeOf(start, half));
      [start, count, first, isWhole] = [start + half, count - half, first - half, false];
    }
  }
  if (!isWhole) path.push(rangeOf(start, count));
  return path.reverse();
}

export type TreeHead = Readonly<{ size: bigint; root: Buffer }>;

/** A tree that grows leaf by leaf and keeps only its right edge: one hash a level. */
export class GrowingTree {
  size: bigint;
  /** By level, the complete subtree at the right edge that has no sibling yet. */
  readonly #edge: (Buffer | undefined)[];

  constructor(size = 0n, edge: readonly (Buffer | undefined)[] = []) {
    this.size = size;
    this.#edge = [...edge];
  }

  /** @returns the subtrees that the leaf completes, itself first */
  add(leaf: Buffer): readonly (NodeId & Readonly<{ hash: Buffer }>)[] {
    const made = [{ level: 0, index: this.size, hash: leaf }];
    let [level, hash] = [0, leaf];
    for (let left = this.#edge[0]; left !== undefined; left = this.#edge[level]) {
      this.#edge[level] = undefined;
      hash = nodeHash(left, hash);
      level += 1;
      made.push({ level, index: this.size >> BigInt(level), hash });
    }
    this.#edge[level] = hash;
    this.size += 1n;
    return made;
  }

  root(): Buffer {
    const edge = this.edge();
    return edge.length === 0 ? emptyRoot : edge.reduceRight((right, left) => nodeHash(left, right));
  }

  /** The complete subtrees that it is made of, the widest first. */
  edge(): readonly Buffer[] {
    return this.#edge.filter((hash) => hash !== undefined).reverse();
  }
}
