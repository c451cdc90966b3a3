import type { Knex } from "knex";
import type { Logger } from "pino";

import { throttledLog } from "../../platform/throttled-log.ts";
import { beyondAnyLog } from "./reactor-hold.ts";

type CheckpointRow = Readonly<{ name: string; position: bigint; updated_at: Date }>;

/** How far reactors are, by name: everything up to there needs nothing of them any more. */
export type Positions = ReadonlyMap<string, bigint>;

const beforeEverything = -1n;
/** So much may be done again after a crash; a statement for each event would cost more than that. */
const saveAfterMs = 250;

/** Where each reactor goes on; one that never ran starts at the beginning of the log. */
export async function readReactorPositions(db: Knex, names: readonly string[]): Promise<Positions> {
  const rows = await db<CheckpointRow>("reactor_checkpoint").whereIn("name", names);
  const stored = new Map(rows.map(({ name, position }) => [name, position]));
  return new Map(names.map((name) => [name, stored.get(name) ?? beforeEverything]));
}

/** PostgreSQL crashed since the positions were reached, so the work they record may be lost. */
export class PositionsLost extends Error {
  override readonly name = "PositionsLost";

  constructor() {
    super("PostgreSQL recovered from a crash: reactors go on from their stored positions");
  }
}

/**
 * Never backwards: a leader that was replaced may still finish what it had begun. Does not wait for the
 * disk: what a crash of Postgres takes back is done again. That holds within one run of PostgreSQL,
 * because a crash takes back the latest commits first; a position that was reached before a crash is
 * not saved after it.
 *
 * @param runId of the run in which the positions were reached; see postgresRun
 * @throws PositionsLost when another run has begun
 */
export async function saveReactorPositions(
  db: Knex,
  positions: Positions,
  runId: string,
): Promise<void> {
  if (positions.size === 0) return;
  const { rows } = await db.raw<{ rows: { is_same: boolean }[] }>(
    `with run as (select from public.postgres_run where id = ?),
     saved as (
       insert into reactor_checkpoint (name, position)
       select reached.name, reached.position
       from unnest(?::text[], ?::bigint[]) as reached (name, position),
         set_config('synchronous_commit', 'off', true)
       where exists (select from run)
       order by reached.name
       on conflict (name) do update set position = excluded.position, updated_at = now()
       where reactor_checkpoint.position < excluded.position
     )
     select exists (select from run) as is_same`,
    [runId, [...positions.keys()], [...positions.values()].map(String)],
  );
  if (rows[0]?.is_same !== true) throw new PositionsLost();
}

/** For a log that was restored older than the reactors: what it will get is new to them. */
export async function setBackReactors(db: Knex, end: bigint): Promise<void> {
  await db<CheckpointRow>("reactor_checkpoint")
    .where("position", ">", end)
    .whereNot("position", beyondAnyLog)
    .update({ position: end });
}

/** Where all reactors are that ever ran. */
export async function allReactorPositions(db: Knex): Promise<Positions> {
  const rows = await db<CheckpointRow>("reactor_checkpoint").select("name", "position");
  return new Map(rows.map(({ name, position }) => [name, position]));
}

/**
 * For a log that was put into an empty instance: what is in it needs nothing of reactors any more. Ends what
 * `holdReactors` began; reactors of which nothing is said here begin where new ones do.
 */
export async function putReactors(db: Knex, positions: Positions): Promise<void> {
  const rows = [...positions].map(([name, position]) => ({ name, position }));
  await db.transaction(async (tx) => {
    await tx<CheckpointRow>("reactor_checkpoint").where({ position: beyondAnyLog }).delete();
    if (rows.length === 0) return;
    await tx<CheckpointRow>("reactor_checkpoint").insert(rows).onConflict("name").merge();
  });
}

export type PositionKeeper = Readonly<{
  /** Some reactor may have come further: saved within a moment, with what moves until then. */
  moved: () => void;
  /** Saves what is not saved yet, unless the database is away. */
  close: () => Promise<void>;
}>;

type KeeperOptions = Readonly<{
  start: Positions;
  /** How far the reactors are now. */
  reached: () => Positions;
  /** The run of PostgreSQL in which they started. */
  runId: string;
  /** Called when another run has begun: nothing is saved any more. */
  onLost: (error: PositionsLost) => void;
}>;

/** Saves how far all reactors are in one go, from time to time while they move. */
export function keepPositions(
  { db, log }: Readonly<{ db: Knex; log: Pick<Logger, "warn"> }>,
  { start, reached, runId, onLost }: KeeperOptions,
): PositionKeeper {
  const saved = new Map(start);
  let timer: NodeJS.Timeout | undefined;
  let saving = Promise.resolve();
  let closed = false;
  const report = throttledLog((error: unknown, suppressed: number) =>
    log.warn({ err: error, suppressed }, "positions of reactors are not saved, trying again"),
  );

  const save = async (): Promise<void> => {
    const isNew = ([name, position]: readonly [string, bigint]): boolean =>
      position > (saved.get(name) ?? beforeEverything);
    const moves = new Map([...reached()].filter(isNew));
    try {
      await saveReactorPositions(db, moves, runId);
      for (const [name, position] of moves) saved.set(name, position);
    } catch (error) {
      report(error);
      if (error instanceof PositionsLost) onLost(error);
      else moved();
    }
  };
  const moved = (): void => {
    if (closed) return;
    timer ??= setTimeout(() => {
      timer = undefined;
      saving = saving.then(save);
    }, saveAfterMs);
  };
  return {
    moved,
    async close() {
      closed = true;
      clearTimeout(timer);
      await saving;
      await save();
    },
  };
}
