import type { Knex } from "knex";

import { relaxed, relaxedAlone } from "./relaxed.ts";

/**
 * Deliveries under way. The first attempts of one webhook form a line: only its head is worked on,
 * by whoever claimed it, so they start one after another in the order of the log, whatever process
 * takes which job. Later attempts stand beside the line. What a crash of Postgres takes back is done
 * again: a delivery that came back into line finds its attempt in the log.
 */
type OutboxRow = Readonly<{
  delivery_id: string;
  webhook_id: string;
  position: bigint;
  is_first: boolean;
  claimed_by: string | null;
  claimed_until: Date | null;
  due_at: Date;
}>;

/** Longer than an attempt and its recording take; only a claim nobody will repeat runs out. */
const claimMs = 60_000;

const free = { claimed_by: null, claimed_until: null } as const;

/**
 * Puts a delivery at its place in the line of its webhook; again, it changes nothing.
 *
 * @returns whether it is the head: somebody must be sent to work on the line. Behind others it is
 *   called by whoever works on those.
 */
export async function enqueue(
  db: Knex,
  delivery: Readonly<{ deliveryId: string; webhookId: string; position: bigint; now: Date }>,
): Promise<boolean> {
  const { deliveryId: delivery_id, webhookId: webhook_id, position, now: due_at } = delivery;
  return onLine(db, webhook_id, async (tx) => {
    await tx("webhook_outbox")
      .insert({ delivery_id, webhook_id, position, due_at })
      .onConflict("delivery_id")
      .ignore();
    return (await headOf(tx, webhook_id))?.delivery_id === delivery_id;
  });
}

/** Who works on a line, and when it is. A job that runs again after a crash has the same id. */
export type Turn = Readonly<{ id: string; now: Date }>;

/**
 * The delivery to attempt first now; undefined when the line is empty, or somebody else works on its
 * head and will call the next one.
 */
export async function claimFirst(
  db: Knex,
  webhookId: string,
  turn: Turn,
): Promise<string | undefined> {
  return onLine(db, webhookId, (tx) => claimHead(tx, webhookId, turn));
}

/**
 * The first attempt is over. With a time for the next one, the delivery stays, beside the line.
 *
 * @returns the delivery that is the head of the line now, claimed for the same turn
 */
export async function endFirst(
  db: Knex,
  ended: Readonly<{ webhookId: string; deliveryId: string; retryAt: Date | undefined }>,
  turn: Turn,
): Promise<string | undefined> {
  return onLine(db, ended.webhookId, async (tx) => {
    await leave(tx, ended.deliveryId, ended.retryAt);
    return claimHead(tx, ended.webhookId, turn);
  });
}

/** Gives up a claim, for another turn to take. */
export async function release(db: Knex, deliveryId: string, turnId: string): Promise<void> {
  await relaxed(db, async (tx) => {
    await tx<OutboxRow>("webhook_outbox")
      .where({ delivery_id: deliveryId, claimed_by: turnId })
      .update(free);
  });
}

/** A later attempt is over. */
export async function endRetry(
  db: Knex,
  deliveryId: string,
  retryAt: Date | undefined,
): Promise<void> {
  await relaxed(db, (tx) => leave(tx, deliveryId, retryAt));
}

/** Webhooks whose line stands still, and later attempts nobody made, since before `before`. */
export async function stuckSince(
  db: Knex,
  before: Date,
): Promise<Readonly<{ webhookIds: readonly string[]; deliveryIds: readonly string[] }>> {
  const rows = await db<OutboxRow>("webhook_outbox")
    .where("due_at", "<", before)
    .andWhere((open) => open.whereNull("claimed_until").orWhere("claimed_until", "<", before))
    .select("webhook_id", "delivery_id", "is_first");
  const first = rows.filter(({ is_first }) => is_first).map(({ webhook_id }) => webhook_id);
  const later = rows.filter(({ is_first }) => !is_first).map(({ delivery_id }) => delivery_id);
  return { webhookIds: [...new Set(first)], deliveryIds: later };
}

async function leave(
  tx: Knex.Transaction,
  deliveryId: string,
  retryAt: Date | undefined,
): Promise<void> {
  const row = tx<OutboxRow>("webhook_outbox").where({ delivery_id: deliveryId });
  if (retryAt === undefined) await row.delete();
  else await row.update({ is_first: false, due_at: retryAt, ...free });
}

async function headOf(tx: Knex.Transaction, webhookId: string): Promise<OutboxRow | undefined> {
  return tx<OutboxRow>("webhook_outbox")
    .where({ webhook_id: webhookId, is_first: true })
    .orderBy(["position", "delivery_id"])
    .first();
}

async function claimHead(
  tx: Knex.Transaction,
  webhookId: string,
  { id: claimed_by, now }: Turn,
): Promise<string | undefined> {
  const head = await headOf(tx, webhookId);
  if (head === undefined) return undefined;
  const claimed = head.claimed_until !== null && head.claimed_until > now;
  if (claimed && head.claimed_by !== claimed_by) return undefined;
  await tx<OutboxRow>("webhook_outbox")
    .where({ delivery_id: head.delivery_id })
    .update({ claimed_by, claimed_until: new Date(now.getTime() + claimMs) });
  return head.delivery_id;
}

/** One at a time looks at the head of a line and moves it. */
function onLine<Result>(
  db: Knex,
  webhookId: string,
  run: (tx: Knex.Transaction) => Promise<Result>,
): Promise<Result> {
  return relaxedAlone(db, `webhook ${webhookId}`, run);
}
