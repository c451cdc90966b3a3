import type { Knex } from "knex";
import { chainNext, chainStart, eventDigest } from "../../events/core/canonical.ts";
import type { Recorded } from "../../events/core/event.ts";
import { put } from "../core/change.ts";
import { everyType } from "../core/every-type.ts";
import type { Projection } from "../core/projection.ts";
import { defineTable, type RowOf } from "../core/table.ts";
import { write } from "../core/write.ts";

/** Close enough to find what was changed, far enough to be few. */
export const eventsPerMark = 1_000n;

export const chainBeforeEverything: ChainMark = { events: 0n, position: -1n, chain: chainStart };

const heads = defineTable<ChainMark & Readonly<{ only: true }>>({
  name: "log_chain_head",
  columns: { only: "boolean default true", events: "bigint", position: "bigint", chain: "bytea" },
  key: ["only"],
});

/** The chain over the first `events` events of the log, of which the last is at `position`. */
const marks = defineTable({
  name: "log_chain_mark",
  columns: { events: "bigint", position: "bigint", chain: "bytea" },
  key: ["events"],
});

export type ChainMark = RowOf<typeof marks>;

/**
 * A running SHA-256 over the log. A mark that is kept elsewhere proves later that nothing before it was
 * changed, added or removed.
 */
export const logChainProjection: Projection = {
  name: "log_chain",
  version: 2,
  tables: [heads, marks],
  types: everyType,
  async apply(tx, events) {
    let head = await chainHead(tx);
    const passed: ChainMark[] = [];
    for (const event of events) {
      // Replayed on top of itself the chain stays as it is.
      if (event.position <= head.position) continue;
      head = continueChain(head, event);
      if (head.events % eventsPerMark === 0n) passed.push(head);
    }
    await write(tx, [
      ...passed.map((mark) => put(marks, mark)),
      put(heads, { only: true, ...head }),
    ]);
  },
};

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
