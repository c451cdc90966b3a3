import type { Knex } from "knex";

import { EventMetadata } from "../events/event.ts";

export type AskedRef = Readonly<{ ref: string; before: string | null; after: string | null }>;

/** What one push asked git to change. */
export type Push = Readonly<{
  /** Also the command id of the events that come of it. */
  pushId: string;
  projectId: string;
  metadata: EventMetadata;
  refs: readonly AskedRef[];
}>;

type Row = Readonly<{
  push_id: string;
  ref: string;
  project_id: string;
  before: string | null;
  after: string | null;
  metadata: unknown;
  created_at: Date;
  /** Given when git confirmed the change; the order of confirmations. */
  done_order: bigint | null;
  /** Whether the push is over, as far as anybody lived to tell. */
  ended: boolean;
}>;

export type PushIntent = AskedRef &
  Readonly<{
    pushId: string;
    metadata: EventMetadata;
    createdAt: Date;
    doneOrder: bigint | null;
    ended: boolean;
  }>;

const rowsAtOnce = 1_000;

/** Durable before git is told: a change seen in the repository can always be traced to its push. */
export async function keepIntent(db: Knex, push: Push): Promise<void> {
  const { pushId: push_id, projectId: project_id } = push;
  const metadata = JSON.stringify(push.metadata);
  const rows = push.refs.map((asked) => ({ push_id, project_id, metadata, ...asked }));
  await db.batchInsert("push_intent", rows, rowsAtOnce);
}

/** @param made refs that git said it changed; undefined when it did not come to say */
export async function endIntent(
  db: Knex,
  { pushId: push_id }: Push,
  made: ReadonlySet<string> | undefined,
): Promise<void> {
  await db.transaction(async (tx) => {
    if (made !== undefined) {
      const refs = [...made];
      await tx("push_intent").where({ push_id }).whereRaw("not ref = any(?)", [refs]).delete();
      await tx("push_intent")
        .where({ push_id })
        .update({ done_order: tx.raw("nextval('public.push_intent_done')") });
    }
    await tx("push_intent").where({ push_id }).update({ ended: true });
  });
}

/**
 * Of one repository, confirmed ones first and in the order they were confirmed.
 *
 * @param pushId of one push alone
 */
export async function intentsOf(
  db: Knex,
  projectId: string,
  pushId?: string,
): Promise<readonly PushIntent[]> {
  const rows = await db<Row>("push_intent")
    .where({ project_id: projectId, ...(pushId === undefined ? {} : { push_id: pushId }) })
    .orderByRaw("done_order nulls last, created_at, push_id, ref");
  return rows.map((row) => ({
    pushId: row.push_id,
    ref: row.ref,
    before: row.before,
    after: row.after,
    metadata: EventMetadata.parse(row.metadata),
    createdAt: row.created_at,
    doneOrder: row.done_order,
    ended: row.ended,
  }));
}

export async function dropIntents(
  db: Knex,
  intents: readonly Pick<PushIntent, "pushId" | "ref">[],
): Promise<void> {
  for (let at = 0; at < intents.length; at += rowsAtOnce) {
    const keys = intents.slice(at, at + rowsAtOnce).map(({ pushId, ref }) => [pushId, ref]);
    await db("push_intent").whereIn(["push_id", "ref"], keys).delete();
  }
}

/** Projects in which some push has not been accounted for since `before`. */
export async function projectsWithIntents(db: Knex, before: Date): Promise<readonly string[]> {
  const rows = await db<Row>("push_intent")
    .where("created_at", "<=", before)
    .distinct("project_id")
    .select("project_id");
  return rows.map(({ project_id }) => project_id);
}

/** What was never carried out and, so long after, will not be. */
export async function dropStaleIntents(db: Knex, before: Date): Promise<void> {
  await db<Row>("push_intent").where("created_at", "<", before).delete();
}
