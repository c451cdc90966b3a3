import type { Knex } from "knex";

import { EventMetadata } from "../../events/core/event.ts";
import { breather } from "../../platform/breather.ts";

export type RequestedRef = Readonly<{ ref: string; before: string | null; after: string | null }>;

/** What one push requests git to change. */
export type Push = Readonly<{
  /** Also the command id of the events that come of it. */
  pushId: string;
  projectId: string;
  metadata: EventMetadata;
  refs: readonly RequestedRef[];
  /** It makes so many new refs that they are synced by us, together, when git is done. */
  together?: boolean;
  /** Distinguishes attempts at the same command: of these, only the last may withdraw what it announced. */
  announcedAt?: Date;
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
  /** Whether the process of the push has recorded its end. */
  ended: boolean;
  together: boolean;
}>;

export type PushIntent = RequestedRef &
  Readonly<{
    pushId: string;
    metadata: EventMetadata;
    createdAt: Date;
    doneOrder: bigint | null;
    ended: boolean;
    together: boolean;
  }>;

const rowsAtOnce = 1_000;

/** Durable before git gets the commands: a change seen in the repository can always be traced to its push. */
export async function keepIntent(db: Knex, push: Push): Promise<void> {
  const { pushId: push_id, projectId: project_id } = push;
  const metadata = JSON.stringify(push.metadata);
  const { together = false, announcedAt: at } = push;
  const of = { push_id, project_id, metadata, together, ...(at && { created_at: at }) };
  const { refs } = push;
  const rowsAt = (at: number) => refs.slice(at, at + rowsAtOnce).map((ref) => ({ ...of, ...ref }));
  if (refs.length <= rowsAtOnce) return void (await db("push_intent").insert(rowsAt(0)));
  await db.transaction(async (tx) => {
    for (let at = 0; at < refs.length; at += rowsAtOnce) {
      await tx("push_intent").insert(rowsAt(at));
    }
  });
}

/** Takes over the intents of an earlier attempt at the same command, which cannot withdraw them any more. */
export async function takeOverIntents(db: Knex, push: Push): Promise<void> {
  await db("push_intent").where({ push_id: push.pushId }).update({ created_at: push.announcedAt });
}

/** @param changed refs that git said it changed; undefined when it did not come to say */
export async function endIntent(
  db: Knex,
  { pushId: push_id, announcedAt: created_at }: Push,
  changed: ReadonlySet<string> | undefined,
): Promise<void> {
  if (changed === undefined) {
    const own = { push_id, ...(created_at && { created_at }) };
    await db("push_intent").where(own).update({ ended: true });
    return;
  }
  await db.raw(endSql, { push_id, made: [...changed], created_at: created_at ?? null });
}

/** In one statement, because each of them is a wait on the way of every push. */
const endSql = `
  with refused as (
    delete from push_intent where push_id = :push_id and not ref = any(:made)
      and created_at = coalesce(:created_at::timestamptz, created_at)
  )
  update push_intent set ended = true, done_order = nextval('public.push_intent_done')
  where push_id = :push_id and ref = any(:made)`;

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
  // The refs of a push, up to 100,000, have the same.
  const parsed = new Map<string, EventMetadata>();
  const intents: PushIntent[] = [];
  const breathe = breather();
  for (const row of rows) {
    await breathe();
    const metadata = parsed.get(row.push_id) ?? EventMetadata.parse(row.metadata);
    parsed.set(row.push_id, metadata);
    intents.push(intentOf(row, metadata));
  }
  return intents;
}

const intentOf = (row: Row, metadata: EventMetadata): PushIntent => ({
  pushId: row.push_id,
  ref: row.ref,
  before: row.before,
  after: row.after,
  metadata,
  createdAt: row.created_at,
  doneOrder: row.done_order,
  ended: row.ended,
  together: row.together,
});

export type CommandChanges = Readonly<{
  /** It may still be under way, or has not been accounted for. */
  announced: boolean;
  /** Full ref name → where it went, as the read model shows it; null: it is gone. */
  refs: ReadonlyMap<string, string | null>;
}>;

/** What a command is known to have done to refs. Both in one look, as the one follows the other. */
export async function changesOfCommand(
  db: Knex,
  projectId: string,
  commandId: string,
): Promise<CommandChanges> {
  const { rows } = await db.raw<{ rows: readonly { ref: string | null; after: string | null }[] }>(
    `select ref, after from (
       select null as ref, null as after, -1 as ordinal from push_intent
         where project_id = :projectId and push_id = :commandId
       union all select ref, after, revision from git_ref_change
         where project_id = :projectId and push_id = :commandId
     ) as announced order by ordinal`,
    { projectId, commandId },
  );
  const refs = new Map<string, string | null>();
  for (const { ref, after } of rows) if (ref !== null) refs.set(ref, after);
  return { announced: rows.some(({ ref }) => ref === null), refs };
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
