import type { Knex } from "knex";
import { chainNext, chainStart, eventDigest } from "../../events/core/canonical.ts";
import type { Recorded } from "../../events/core/event.ts";
import { everyType } from "../core/every-type.ts";
import type { Projection, Tx } from "../core/projection.ts";

/** The chain over the first `events` events of the log, of which the last is at `position`. */
export type ChainMark = Readonly<{ events: bigint; position: bigint; chain: Buffer }>;

/** Close enough to find what was changed, far enough to be few. */
export const eventsPerMark = 1_000n;

export const chainBeforeEverything: ChainMark = { events: 0n, position: -1n, chain: chainStart };

/**
 * A running SHA-256 over the log. A mark that is kept elsewhere proves later that nothing before it was
 * changed, added or removed.
 */
export const logChainProjection: Projection = {
  name: "log_chain",
  version: 1,
  tables: ["log_chain_head", "log_chain_mark"],
  async create(tx) {
    await tx.schema.createTable("log_chain_head", (table) => {
      table.boolean("only").primary().defaultTo(true).checkIn(["true"]);
      table.bigInteger("events").notNullable();
      table.bigInteger("position").notNullable();
      table.binary("chain").notNullable();
    });
    await tx.schema.createTable("log_chain_mark", (table) => {
      table.bigInteger("events").primary();
      table.bigInteger("position").notNullable();
      table.binary("chain").notNullable();
    });
  },
  feed: "gathered",
  types: everyType,
  apply: (tx, event) => applyAll(tx, [event]),
  applyAll,
};

async function applyAll(tx: Tx, events: readonly Recorded[]): Promise<void> {
  let head = await chainHead(tx);
  const marks: ChainMark[] = [];
  for (const event of events) {
    // Replayed on top of itself the chain stays as it is.
    if (event.position <= head.position) continue;
    head = continueChain(head, event);
    if (head.events % eventsPerMark === 0n) marks.push(head);
  }
  if (marks.length > 0) await tx<ChainMark>("log_chain_mark").insert(marks);
  await tx("log_chain_head")
    .insert({ only: true, ...head })
    .onConflict("only")
    .merge();
}

export function continueChain({ events, chain }: ChainMark, event: Recorded): ChainMark {
  return {
    events: events + 1n,
    position: event.position,
    chain: chainNext(chain, eventDigest(event)),
  };
}

/** Where the chain stands. */
export async function chainHead(db: Knex): Promise<ChainMark> {
  const head = await db<ChainMark>("log_chain_head").first("events", "position", "chain");
  return head ?? chainBeforeEverything;
}

/** The marks in order, those after the first `events` events. */
export async function chainMarks(
  db: Knex,
  events: bigint,
  countMax: number,
): Promise<readonly ChainMark[]> {
  return db<ChainMark>("log_chain_mark")
    .where("events", ">", events)
    .orderBy("events")
    .limit(countMax)
    .select("events", "position", "chain");
}
