import type { Knex } from "knex";
import { chainNext, chainStart } from "../../events/core/canonical.ts";
import type { Recorded } from "../../events/core/event.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import { beforeEverything } from "../core/checkpoint.ts";
import { wholeLog } from "../core/whole-log.ts";
import type { AuditEntryRow } from "./entry.ts";
import { digestOf, type LeafRow, leafOf, storedLeaves, storedTree } from "./log-tree.ts";
import { GrowingTree, type TreeHead } from "./merkle.ts";

export type LogCheck = Readonly<
  /** `newer` events of the log, when there are any, are not in the tree. */
  | { equal: true; head: TreeHead; newer?: bigint }
  /** What differs first. */
  | { equal: false; first: string }
>;

/**
 * What an earlier check printed: the root of the tree over so many events, or of older releases the end of the hash
 * chain over them.
 */
export type Mark = Readonly<{ events: bigint; hash: Buffer }>;

export type CheckOptions = Readonly<{
  expected?: Mark;
  signal: AbortSignal;
  onProgress?: (events: bigint, ofEvents: bigint) => void;
}>;

type Deps = Readonly<{ db: Knex; store: EventStore }>;

const eventsPerProgress = 1_000n;

/**
 * Computes the tree again from the log and compares it with the one that is stored, leaf by leaf, and with a mark that
 * was kept outside when given. Reads the log once.
 */
export async function checkLog(
  { db, store }: Deps,
  { expected, signal, onProgress }: CheckOptions,
): Promise<LogCheck> {
  const newest = (await store.head()) ?? beforeEverything;
  const stored = await storedTree(db);
  const leaves = storedLeaves(db);
  const end =
    expected !== undefined && expected.events > stored.size ? expected.events : stored.size;
  const tree = new GrowingTree();
  const whole = await wholeLog(db);
  const wholeUpTo = whole.systemStreamsUpTo;
  let chain = chainStart;
  let newer = 0n;
  for await (const event of store.readAll(whole)) {
    signal.throwIfAborted();
    if (tree.size === end) {
      if (event.position > newest) break;
      newer += 1n;
      continue;
    }
    if (tree.size < stored.size) {
      const difference = differenceOf(event, (await leaves.next()).value, wholeUpTo);
      if (difference !== undefined) return differs(db, difference);
    }
    tree.add(leafOf(event, wholeUpTo));
    if (expected !== undefined) chain = chainNext(chain, digestOf(event, wholeUpTo));
    if (tree.size === stored.size && !tree.root().equals(stored.root())) {
      return differs(db, "the events agree with the leaves of the tree, but not with its head");
    }
    if (
      tree.size === expected?.events &&
      ![chain, tree.root()].some((one) => one.equals(expected.hash))
    ) {
      const first = `the first ${expected.events} events agree with the tree, but not with the mark`;
      return differs(db, first);
    }
    if (tree.size % eventsPerProgress === 0n) onProgress?.(tree.size, end);
  }
  const { value: missing } = await leaves.next();
  if (tree.size < stored.size && missing) return differs(db, missing);
  if (tree.size < end) {
    return differs(db, `it ends after ${tree.size} of ${end} events`);
  }
  const head = { size: stored.size, root: stored.root() };
  return { equal: true, head, ...(newer > 0n && { newer }) };
}

/** What is wrong with an event, or the leaf of one that is missing. */
function differenceOf(
  event: Recorded,
  leaf: LeafRow | undefined,
  wholeUpTo: bigint,
): string | LeafRow | undefined {
  const name = `${event.type} at ${event.position} in ${event.stream}`;
  if (leaf === undefined || leaf.position > event.position) return `${name} was added`;
  if (leaf.position < event.position) return leaf;
  return leaf.hash.equals(leafOf(event, wholeUpTo)) ? undefined : `${name} was changed`;
}

/** Of an event that is missing the audit trail still says what it was. */
async function differs(db: Knex, first: string | LeafRow): Promise<LogCheck> {
  if (typeof first === "string") return { equal: false, first };
  const { position } = first;
  const entry = await db<AuditEntryRow>("audit_entry").where({ position }).first("type", "stream");
  const what = entry ? `${entry.type} at ${position} in ${entry.stream}` : `event ${position}`;
  return { equal: false, first: `${what} is missing` };
}
