import type { Knex } from "knex";
import { eventDigest } from "../../events/core/canonical.ts";
import type { Recorded } from "../../events/core/event.ts";
import { invariant } from "../../platform/invariant.ts";
import { allOf } from "../../platform/postgres/pipelined.ts";
import { everyType } from "../core/every-type.ts";
import { insertColumns } from "../core/insert-columns.ts";
import type { Projection, Tx } from "../core/projection.ts";
import {
  GrowingTree,
  hashBytes,
  leafHash,
  type NodeHash,
  type NodeId,
  type Range,
  rangeHash,
  rangeOf,
} from "./merkle.ts";

type LeafRow = Readonly<{ index: bigint; position: bigint; hash: Buffer }>;
/** Of a level above the leaves. */
type NodeRow = Readonly<{ level: number; index: bigint; hash: Buffer }>;
type HeadRow = Readonly<{
  only: true;
  size: bigint;
  position: bigint;
  /** Hashes of the complete subtrees that the tree is made of, the widest first: what the next leaf is added to. */
  edge: Buffer;
}>;

const leafColumns = { index: "bigint", position: "bigint", hash: "bytea" } as const;
const nodeColumns = { level: "smallint", index: "bigint", hash: "bytea" } as const;

/**
 * The Merkle tree over the log (RFC 9162): a leaf an event, in the order of the log, and every complete
 * subtree. An event adds its leaf and the subtrees it completes, one row each and two on average.
 */
export const logTreeProjection: Projection = {
  name: "log_tree",
  version: 2,
  tables: ["log_tree_head", "log_tree_leaf", "log_tree_node"],
  async create(tx) {
    await tx.schema.createTable("log_tree_head", (table) => {
      table.boolean("only").primary().defaultTo(true).checkIn(["true"]);
      table.bigInteger("size").notNullable();
      table.bigInteger("position").notNullable();
      table.binary("edge").notNullable();
    });
    await tx.schema.createTable("log_tree_leaf", (table) => {
      table.bigInteger("index").notNullable();
      table.bigInteger("position").notNullable();
      table.binary("hash").notNullable();
    });
    await tx.schema.createTable("log_tree_node", (table) => {
      table.smallint("level").notNullable();
      table.bigInteger("index").notNullable();
      table.binary("hash").notNullable();
    });
  },
  async index(tx) {
    await tx.schema.alterTable("log_tree_leaf", (table) => {
      table.primary(["index"]);
      table.unique(["position"]);
    });
    await tx.schema.alterTable("log_tree_node", (table) => {
      table.primary(["level", "index"]);
    });
  },
  feed: "gathered",
  types: everyType,
  apply: (tx, event) => applyAll(tx, [event]),
  applyAll,
};

/** An event as a leaf: of what it says and where it stands in its stream, whatever store it is in. */
export const leafOf = (event: Recorded): Buffer => leafHash(eventDigest(event));

async function applyAll(tx: Tx, events: readonly Recorded[]): Promise<void> {
  const head = await tx<HeadRow>("log_tree_head").first("size", "position", "edge");
  // Replayed on top of itself the tree stays as it is.
  const fresh = events.filter(({ position }) => position > (head?.position ?? -1n));
  const last = fresh.at(-1);
  if (last === undefined) return;
  const tree = head === undefined ? new GrowingTree() : treeAt(head);
  const leaves: LeafRow[] = [];
  const nodes: NodeRow[] = [];
  for (const event of fresh) {
    const hash = leafOf(event);
    leaves.push({ index: tree.size, position: event.position, hash });
    nodes.push(...tree.add(hash).slice(1));
  }
  const edge = Buffer.concat(tree.edge());
  const moved = { only: true, size: tree.size, position: last.position, edge } as const;
  await allOf([
    insertColumns(tx, { table: "log_tree_leaf", types: leafColumns, rows: leaves }),
    insertColumns(tx, { table: "log_tree_node", types: nodeColumns, rows: nodes }),
    tx<HeadRow>("log_tree_head").insert(moved).onConflict("only").merge(),
  ]);
}

function treeAt({ size, edge }: Pick<HeadRow, "size" | "edge">): GrowingTree {
  const byLevel: Buffer[] = [];
  for (const [place, { level }] of rangeOf(0n, size).entries()) {
    byLevel[level] = edge.subarray(place * hashBytes, (place + 1) * hashBytes);
  }
  return new GrowingTree(size, byLevel);
}

/** How many events the tree is over. */
export async function treeSize(db: Knex): Promise<bigint> {
  return (await db<HeadRow>("log_tree_head").first("size"))?.size ?? 0n;
}

export type Leaf = Readonly<{ index: bigint | null; size: bigint }>;

/** Which leaf the event at a position is, null when it is none, and how many the tree has. */
export async function findLeaf(db: Knex, position: bigint): Promise<Leaf> {
  const { rows } = await db.raw<{ rows: [Leaf] }>(
    `select (select index from log_tree_leaf where position = ?) as index,
       coalesce((select size from log_tree_head), 0) as size`,
    [String(position)],
  );
  return rows[0];
}

/** Hashes of some ranges of leaves, each in the tree; read by one query. */
export async function rangeHashes(db: Knex, ranges: readonly Range[]): Promise<readonly Buffer[]> {
  const hashOf = await hashesOf(db, ranges.flat());
  return ranges.map((range) => rangeHash(range, hashOf));
}

/** Root of the tree over the first `size` events. */
export async function rootAt(db: Knex, size: bigint): Promise<Buffer> {
  const range = rangeOf(0n, size);
  return rangeHash(range, await hashesOf(db, range));
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
  const known = new Map(rows.map(({ level, index, hash }) => [`${level} ${index}`, hash]));
  return ({ level, index }) => {
    const hash = known.get(`${level} ${index}`);
    invariant(hash !== undefined, `the tree has the node ${index} of level ${level}`);
    return hash;
  };
}
