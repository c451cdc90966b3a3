import type { EventStore } from "../../platform/event-store/event-store.ts";
import { leafOf } from "./log-tree.ts";
import { GrowingTree, type TreeHead } from "./merkle.ts";

export type HeadCheck = Readonly<
  | { equal: true; head: TreeHead }
  /** The tree over as many events, or over all that are left. */
  | { equal: false; found: TreeHead }
>;

/**
 * Computes the tree over the log again, from the log alone, and compares it with a head that was kept
 * outside. Holds one hash a level.
 *
 * @param wholeUpTo up to where every event counts with its data; see `countedWholeUpTo`
 */
export async function checkHead(
  store: Pick<EventStore, "readAll">,
  head: TreeHead,
  signal: AbortSignal,
  wholeUpTo = -1n,
): Promise<HeadCheck> {
  const tree = new GrowingTree();
  if (head.size > 0n) {
    const whole = { withForeign: true, systemStreamsUpTo: wholeUpTo };
    for await (const event of store.readAll(whole)) {
      signal.throwIfAborted();
      tree.add(leafOf(event, wholeUpTo));
      if (tree.size === head.size) break;
    }
  }
  const found = { size: tree.size, root: tree.root() };
  const equal = found.size === head.size && found.root.equals(head.root);
  return equal ? { equal, head } : { equal, found };
}
