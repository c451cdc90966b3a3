import type { Knex } from "knex";
import { eventDigest, wholeDigest } from "../../events/core/canonical.ts";
import type { Recorded } from "../../events/core/event.ts";
import { invariant } from "../../platform/invariant.ts";
import { put } from "../core/change.ts";
import { everyType } from "../core/every-type.ts";
import type { Projection, Tx } from "../core/projection.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";
import { countedWholeUpTo } from "../core/whole-log.ts";
import { write } from "../core/write.ts";
import { mustBeCurrent } from "../progress/current.ts";
import {
  GrowingTree,
  hashBytes,
  leafHash,
  type NodeHash,
  type NodeId,
  type Range,
  rangeHash,
  rangeOf,
  type TreeHead,
} from "./merkle.ts";

const heads = defineTable({
  name: "log_tree_head",
  columns: {
    only: column<true>("boolean default true"),
    size: "bigint",
    position: "bigint",
    /** Hashes of the complete subtrees that the tree is made of, the widest first: what the next leaf is added to. */
    edge: "bytea",
  },
  key: ["only"],
});

type HeadRow = RowOf<typeof heads>;

const leaves = defineTable({
  name: "log_tree_leaf",
  columns: { index: "bigint", position: "bigint", hash: "bytea" },
  key: ["index"],
  unique: ["(position)"],
});

export type LeafRow = RowOf<typeof leaves>;

/** Of a level above the leaves. */
const nodes = defineTable({
  name: "log_tree_node",
  columns: { level: "smallint", index: "bigint", hash: "bytea" },
  key: ["level", "index"],
});

type NodeRow = RowOf<typeof nodes>;

/**
 * The Merkle tree over the log (RFC 9162): a leaf an event, in the order of the log, and every complete
 * subtree. An event adds its leaf and the subtrees it completes, one row each and two on average.
 */
export const logTreeProjection: Projection = {
  name: "log_tree",
  version: 3,
  tables: [heads, leaves, nodes],
  types: everyType,
  takesForeign: true,
  apply,
};

/**
 * An event as a leaf: of what it says and where it stands in its stream, whatever store it is in. Of an event of another
 * application only the latter.
 *
 * @param wholeUpTo up to where every event counts with its data; see `countedWholeUpTo`
 */
export const leafOf = (event: Recorded, wholeUpTo?: bigint): Buffer =>
  leafHash(digestOf(event, wholeUpTo));

/** @param wholeUpTo up to there events of other applications were counted with their data */
export const digestOf = (event: Recorded, wholeUpTo = -1n): Buffer =>
  event.isForeign === true && event.position <= wholeUpTo ? wholeDigest(event) : eventDigest(event);

async function apply(tx: Tx, events: readonly Recorded[]): Promise<void> {
  const head = await tx<HeadRow>("log_tree_head").first("size", "position", "edge");
  // Replayed on top of itself the tree stays as it is.
  const fresh = events.filter(({ position }) => position > (head?.position ?? -1n));
  const last = fresh.at(-1);
  if (last === undefined) return;
  const tree = head === undefined ? new GrowingTree() : treeAt(head);
  const hasForeign = fresh.some(({ isForeign }) => isForeign === true);
  const wholeUpTo = hasForeign ? await countedWholeUpTo(tx) : undefined;
  const changes = fresh.flatMap((event) => {
    const hash = leafOf(event, wholeUpTo);
    const leaf = put(leaves, { index: tree.size, position: event.position, hash });
    return [
      leaf,
      ...tree
        .add(hash)
        .slice(1)
        .map((node) => put(nodes, node)),
    ];
  });
  const edge = Buffer.concat(tree.edge());
  const moved = { only: true, size: tree.size, position: last.position, edge } as const;
  await write(tx, [...changes, put(heads, moved)]);
}

function treeAt({ size, edge }: Pick<HeadRow, "size" | "edge">): GrowingTree {
  const byLevel: Buffer[] = [];
  for (const [place, { level }] of rangeOf(0n, size).entries()) {
    byLevel[level] = edge.subarray(place * hashBytes, (place + 1) * hashBytes);
  }
  return new GrowingTree(size, byLevel);
}

/** One row of the tree. @throws Refusal `projection.lagging` while it is built again, or has stopped */
async function read<Row>(
  db: Knex,
  text: string,
  bindings: readonly Knex.RawBinding[],
): Promise<Row> {
  await mustBeCurrent(db, logTreeProjection.name);
  const { rows } = await db.raw<{ rows: [Row] }>(text, [...bindings]);
  return rows[0];
}

/** The whole tree, with the leaves of everything that answers show. */
export async function wholeTree(db: Knex): Promise<TreeHead> {
  await mustBeCurrent(db, logTreeProjection.name);
  const tree = await storedTree(db);
  return { size: tree.size, root: tree.root() };
}

/** The tree as it is stored now. */
export async function storedTree(db: Knex): Promise<GrowingTree> {
  const head = await db<HeadRow>("log_tree_head").first("size", "edge");
  return head === undefined ? new GrowingTree() : treeAt(head);
}

const leavesPerPage = 1_000;

/** The leaves in their order, a page in memory at a time. */
export async function* storedLeaves(db: Knex): AsyncGenerator<LeafRow, undefined> {
  let page: readonly LeafRow[];
  let from = 0n;
  do {
    page = await db<LeafRow>("log_tree_leaf")
      .where("index", ">=", from)
      .orderBy("index")
      .limit(leavesPerPage);
    yield* page;
    from += BigInt(page.length);
  } while (page.length === leavesPerPage);
}

/** What proves the event at a position. */
export type LeafFound = Readonly<{
  /** Undefined when no event has the position. */
  index: bigint | undefined;
  /** How many leaves the tree has. */
  size: bigint;
  /** Of the leaf and of every node of its inclusion path. */
  hashOf: NodeHash;
}>;

/**
 * Finds the leaf of the event at a position with the hashes of its inclusion path.
 *
 * @param leaves size of the tree that it is proved in; the whole one when undefined
 */
export async function findLeaf(
  db: Knex,
  position: bigint,
  leaves: bigint | undefined,
): Promise<LeafFound> {
  type Row = Readonly<{ index: bigint | null; size: bigint; nodes: readonly NodeText[] | null }>;
  const bindings = [String(position), leaves === undefined ? null : String(leaves)];
  const { index, size, nodes: path } = await read<Row>(db, leafWithPath, bindings);
  const known = (path ?? []).map(
    ([level, at, hash]) => [nodeKey(level, at), Buffer.from(hash, "base64")] as const,
  );
  return { index: index ?? undefined, size, hashOf: hashIn(new Map(known)) };
}

type NodeText = readonly [level: number, index: string, hash: string];

/**
 * Subtrees of an inclusion path (RFC 9162, 2.1.3.1) are siblings of those that the leaf is in, or those that the tree
 * is made of at its right end: one for each bit that is set in its size. Those that are not there give no hash. Each
 * hash is looked up by its primary key in a subquery: a join might scan the tables where their statistics are old.
 */
const leafWithPath = `
  with leaf as materialized (
    select (select index from log_tree_leaf where position = ?) as index,
      coalesce((select size from log_tree_head), 0) as size, ?::bigint as leaves
  ), tree as materialized (select index, coalesce(leaves, size) as leaves from leaf),
  wanted as (
    select 0 as level, index from tree where index is not null
    union all select level, (index >> level) # 1 from tree, generate_series(0, 62) as level
      where (1::bigint << level) < leaves and index is not null
    union all select level, (leaves >> level) - 1 from tree, generate_series(0, 62) as level
      where (leaves >> level) & 1 = 1 and index is not null
  ), node as (
    select level, index, case level
      when 0 then (select hash from log_tree_leaf as leaf where leaf.index = wanted.index)
      else (select hash from log_tree_node as node
        where node.level = wanted.level and node.index = wanted.index)
      end as hash
    from wanted
  )
  select index, size, (
    select json_agg(json_build_array(level, index::text, encode(hash, 'base64')))
    from node where hash is not null
  ) as nodes from leaf`;

/**
 * The size of the tree and the hashes of ranges of leaves in it.
 *
 * @param rangesIn of a tree of this size
 */
export async function rangeHashes(
  db: Knex,
  rangesIn: (size: bigint) => readonly Range[],
): Promise<Readonly<{ size: bigint; hashes: readonly Buffer[] }>> {
  const text = "select coalesce((select size from log_tree_head), 0) as size";
  const { size } = await read<{ size: bigint }>(db, text, []);
  const ranges = rangesIn(size);
  const hashOf = await hashesOf(db, ranges.flat());
  return { size, hashes: ranges.map((range) => rangeHash(range, hashOf)) };
}

/** The text of the statement is the same for any number of nodes, and each is found by the primary key. */
async function hashesOf(db: Knex, nodes: readonly NodeId[]): Promise<NodeHash> {
  const leaves = nodes.filter(({ level }) => level === 0);
  const others = nodes.filter(({ level }) => level > 0);
  const { rows } = await db.raw<{ rows: NodeRow[] }>(
    `select node.level, node.index, node.hash
     from unnest(?::smallint[], ?::bigint[]) as wanted (level, index)
     join log_tree_node as node using (level, index)
     union all select 0, index, hash from log_tree_leaf where index = any(?::bigint[])`,
    [
      others.map(({ level }) => level),
      others.map(({ index }) => String(index)),
      leaves.map(({ index }) => String(index)),
    ],
  );
  return hashIn(new Map(rows.map(({ level, index, hash }) => [nodeKey(level, index), hash])));
}

const nodeKey = (level: number, index: bigint | string): string => `${level} ${index}`;

function hashIn(known: ReadonlyMap<string, Buffer>): NodeHash {
  return ({ level, index }) => {
    const hash = known.get(nodeKey(level, index));
    invariant(hash !== undefined, `the tree has the node ${index} of level ${level}`);
    return hash;
  };
}
