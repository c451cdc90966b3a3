import type { Knex } from "knex";

import { asyncCommit, asyncCommitUnderLocks } from "../core/async-commit.ts";

/**
 * Deliveries under way. The first attempts of one webhook form a line: only its head is worked on,
 * by the turn that claimed it, so they start one after another in the order of the log, whichever process
 * takes which job. Later attempts are outside the line. Work that a crash of PostgreSQL rolls back is
 * repeated: a delivery that returns to the line finds its attempt in the log.
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

/** Longer than a turn with its last attempt takes, so only claims of dead processes expire. */
const claimMs = 60_000;

const free = { claimed_by: null, claimed_until: null } as const;

export type InLine = Readonly<{ deliveryId: string; webhookId: string; position: bigint }>;

/**
 * Inserts deliveries into the lines of their webhooks by position; a repetition changes nothing.
 *
 * @returns the heads of those lines: the caller adds a job for each head that it inserted. Deliveries
 *   behind a head are claimed by the turn that works on it.
 */
export async function enqueue(
  db: Knex,
  deliveries: readonly InLine[],
  due_at: Date,
): Promise<ReadonlySet<string>> {
  if (deliveries.length === 0) return new Set();
  const webhookIds = [...new Set(deliveries.map(({ webhookId }) => webhookId))];
  const rows = deliveries.map(({ deliveryId, webhookId, position }) => {
    return { delivery_id: deliveryId, webhook_id: webhookId, position, due_at };
  });
  return onLines(db, webhookIds, async (tx) => {
    await tx("webhook_outbox").insert(rows).onConflict("delivery_id").ignore();
    const heads = await tx.raw<{ rows: Pick<OutboxRow, "delivery_id">[] }>(
      `select distinct on (webhook_id) delivery_id from webhook_outbox
       where webhook_id = any(?) and is_first order by webhook_id, position, delivery_id`,
      [webhookIds],
    );
    return new Set(heads.rows.map(({ delivery_id }) => delivery_id));
  });
}

/** Who works on a line, and when it is. A job that runs again after a crash has the same id. */
export type Turn = Readonly<{ id: string; now: Date }>;

/**
 * The deliveries to attempt first now, in their order; none when the line is empty, or another turn
 * works on its head and will claim the next ones.
 */
export function claimFirst(
  db: Knex,
  webhookId: string,
  turn: Turn,
  countMax: number,
): Promise<readonly string[]> {
  return onLines(db, [webhookId], (tx) => claim(tx, webhookId, turn, countMax));
}

/** A first attempt that is over. With a time for the next one, the delivery stays, beside the line. */
export type Ended = Readonly<{ deliveryId: string; retryAt: Date | undefined }>;

/** @returns what is at the head of the line now, claimed for the same turn */
export function endFirst(
  db: Knex,
  webhookId: string,
  ended: readonly Ended[],
  { turn, countMax }: Readonly<{ turn: Turn; countMax: number }>,
): Promise<readonly string[]> {
  return onLines(db, [webhookId], async (tx) => {
    await leave(tx, ended);
    return claim(tx, webhookId, turn, countMax);
  });
}

/**
 * Ends the turn and frees the deliveries that it claimed and did not attempt.
 *
 * @returns the head of the line now: the caller adds a job that continues with it
 */
export function endTurn(
  db: Knex,
  webhookId: string,
  ended: readonly Ended[],
  turnId: string,
): Promise<string | undefined> {
  return onLines(db, [webhookId], async (tx) => {
    await leave(tx, ended);
    await tx<OutboxRow>("webhook_outbox")
      .where({ webhook_id: webhookId, claimed_by: turnId })
      .update(free);
    const [head] = await firstInLine(tx, webhookId, 1);
    return head?.delivery_id;
  });
}

/** A later attempt is over. */
export async function endRetry(
  db: Knex,
  deliveryId: string,
  retryAt: Date | undefined,
): Promise<void> {
  await asyncCommit(db, (tx) => leave(tx, [{ deliveryId, retryAt }]));
}

/** Puts a delivery beside the line of its webhook, for its next attempt; again, it changes nothing. */
export async function putBesideLine(
  db: Knex,
  { deliveryId, webhookId, position }: InLine,
  due_at: Date,
): Promise<void> {
  await db("webhook_outbox")
    .insert({
      delivery_id: deliveryId,
      webhook_id: webhookId,
      position,
      is_first: false,
      due_at,
    })
    .onConflict("delivery_id")
    .ignore();
}

export type StalledQueue = Readonly<{
  webhookId: string;
  /** Of the oldest delivery that no worker has claimed. */
  dueAt: Date;
  /** Deliveries that wait with it. */
  waiting: number;
}>;

/** Lines with deliveries that were due before `before` and that no worker has claimed since. */
export async function stalledQueues(db: Knex, before: Date): Promise<readonly StalledQueue[]> {
  const rows = await overdue(db, before)
    .groupBy("webhook_id")
    .orderBy("webhook_id")
    .select("webhook_id")
    .min({ due_at: "due_at" })
    .count({ waiting: "*" });
  return rows.map((row: Record<string, unknown>) => ({
    webhookId: String(row["webhook_id"]),
    dueAt: row["due_at"] as Date,
    waiting: Number(row["waiting"]),
  }));
}

function overdue(db: Knex, before: Date): Knex.QueryBuilder {
  return db<OutboxRow>("webhook_outbox")
    .where("due_at", "<", before)
    .andWhere((open) => open.whereNull("claimed_until").orWhere("claimed_until", "<", before));
}

/** Queues whose head, and later attempts that no worker made, are due since before `before`. */
export async function stuckSince(
  db: Knex,
  before: Date,
): Promise<Readonly<{ webhookIds: readonly string[]; deliveryIds: readonly string[] }>> {
  const rows: OutboxRow[] = await overdue(db, before).select(
    "webhook_id",
    "delivery_id",
    "is_first",
  );
  const first = rows.filter(({ is_first }) => is_first).map(({ webhook_id }) => webhook_id);
  const later = rows.filter(({ is_first }) => !is_first).map(({ delivery_id }) => delivery_id);
  return { webhookIds: [...new Set(first)], deliveryIds: later };
}

async function leave(tx: Knex.Transaction, ended: readonly Ended[]): Promise<void> {
  const over = ended.flatMap(({ deliveryId, retryAt }) => (retryAt ? [] : [deliveryId]));
  if (over.length > 0) {
    await tx<OutboxRow>("webhook_outbox").whereIn("delivery_id", over).delete();
  }
  for (const { deliveryId, retryAt } of ended) {
    if (retryAt === undefined) continue;
    await tx<OutboxRow>("webhook_outbox")
      .where({ delivery_id: deliveryId })
      .update({ is_first: false, due_at: retryAt, ...free });
  }
}

async function firstInLine(
  tx: Knex.Transaction,
  webhookId: string,
  countMax: number,
): Promise<readonly OutboxRow[]> {
  return tx<OutboxRow>("webhook_outbox")
    .where({ webhook_id: webhookId, is_first: true })
    .orderBy(["position", "delivery_id"])
    .limit(countMax);
}

async function claim(
  tx: Knex.Transaction,
  webhookId: string,
  { id: claimed_by, now }: Turn,
  countMax: number,
): Promise<readonly string[]> {
  const rows = await firstInLine(tx, webhookId, countMax);
  const isOthers = (row: OutboxRow): boolean =>
    row.claimed_by !== claimed_by && row.claimed_until !== null && row.claimed_until > now;
  const others = rows.findIndex(isOthers);
  const own = others === -1 ? rows : rows.slice(0, others);
  const ids = own.map(({ delivery_id }) => delivery_id);
  if (ids.length > 0) {
    await tx<OutboxRow>("webhook_outbox")
      .whereIn("delivery_id", ids)
      .update({ claimed_by, claimed_until: new Date(now.getTime() + claimMs) });
  }
  return ids;
}

/** One at a time reads the heads of lines and moves them. */
function onLines<Result>(
  db: Knex,
  webhookIds: readonly string[],
  run: (tx: Knex.Transaction) => Promise<Result>,
): Promise<Result> {
  const names = webhookIds.map((webhookId) => `webhook ${webhookId}`);
  return asyncCommitUnderLocks(db, names, run);
}
