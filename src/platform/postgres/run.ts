import type { Knex } from "knex";

/** The part of a connection that is used here; clients of pg fit. */
export type Session = Readonly<{
  query: <Row extends object>(
    text: string,
    values?: unknown[],
  ) => Promise<Readonly<{ rows: Row[] }>>;
}>;

export type PostgresRun = Readonly<{
  /** Another one after every crash recovery. */
  id: string;
  /** True once the read models were found at the head of the log in this run. */
  caughtUp: boolean;
}>;

/**
 * The time since PostgreSQL last recovered from a crash. Commits that did not wait for the disk are
 * never lost within a run, and the last of them may be lost between two. A session belongs to one run:
 * a crash ends all sessions.
 */
export async function postgresRun(session: Session): Promise<PostgresRun> {
  const { rows } = await session.query<{ id: string; caught_up: boolean }>(
    `with made as (
       insert into public.postgres_run (id) select gen_random_uuid()
       where not exists (select from public.postgres_run)
       on conflict do nothing returning id, caught_up
     )
     select id, caught_up from made union all select id, caught_up from public.postgres_run`,
  );
  const [run] = rows;
  // Another session inserted the row after this statement's snapshot was taken.
  if (run === undefined) return postgresRun(session);
  return { id: run.id, caughtUp: run.caught_up };
}

/** Notes for every session that the read models have caught up in this run. */
export async function noteCaughtUp(session: Session, { id }: PostgresRun): Promise<void> {
  await session.query("update public.postgres_run set caught_up = true where id = $1", [id]);
}

/** The run of the session that the pool gives. */
export function currentRun(db: Knex): Promise<PostgresRun> {
  return postgresRun({ query: (text) => db.raw(text) });
}
