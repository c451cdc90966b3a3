import { nodeHash, type TreeHead } from "../../../src/projections/audit/merkle.ts";

/** RFC 9162, 2.1.3.2. */
export function provesInclusion(
  { leaf, size, hash, root }: Readonly<{ leaf: bigint; size: bigint; hash: Buffer; root: Buffer }>,
  path: readonly Buffer[],
): boolean {
  if (leaf >= size) return false;
  let [node, last, reached] = [leaf, size - 1n, hash];
  for (const sibling of path) {
    if (last === 0n) return false;
    if ((node & 1n) === 1n || node === last) {
      reached = nodeHash(sibling, reached);
      while ((node & 1n) === 0n && node !== 0n) [node, last] = [node >> 1n, last >> 1n];
    } else reached = nodeHash(reached, sibling);
    [node, last] = [node >> 1n, last >> 1n];
  }
  return last === 0n && reached.equals(root);
}

/** RFC 9162, 2.1.4.2. */
export function provesConsistency(from: TreeHead, to: TreeHead, path: readonly Buffer[]): boolean {
  if (from.size > to.size) return false;
  if (from.size === to.size) return path.length === 0 && from.root.equals(to.root);
  if (from.size === 0n) return path.length === 0;
  const isWhole = (from.size & (from.size - 1n)) === 0n;
  const [first, ...rest] = isWhole ? [from.root, ...path] : path;
  if (first === undefined) return false;
  let [node, last] = [from.size - 1n, to.size - 1n];
  while ((node & 1n) === 1n) [node, last] = [node >> 1n, last >> 1n];
  let [old, current] = [first, first];
  for (const sibling of rest) {
    if (last === 0n) return false;
    if ((node & 1n) === 1n || node === last) {
      [old, current] = [nodeHash(sibling, old), nodeHash(sibling, current)];
      while ((node & 1n) === 0n && node !== 0n) [node, last] = [node >> 1n, last >> 1n];
    } else current = nodeHash(current, sibling);
    [node, last] = [node >> 1n, last >> 1n];
  }
  return last === 0n && old.equals(from.root) && current.equals(to.root);
}
