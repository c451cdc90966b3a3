import type { Knex } from "knex";
import type { Logger } from "pino";

import { occasionally } from "../platform/occasionally.ts";

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

/**
 * Never backwards: a leader that was replaced may still finish what it had begun. Does not wait for the
 * disk: what a crash of Postgres takes back is done again.
 */
export async function saveReactorPositions(db: Knex, positions: Positions): Promise<void> {
  if (positions.size === 0) return;
  await db.raw(
    `insert into reactor_checkpoint (name, position)
     select reached.name, reached.position
     from unnest(?::text[], ?::bigint[]) as reached (name, position),
       set_config('synchronous_commit', 'off', true)
     order by reached.name
     on conflict (name) do update set position = excluded.position, updated_at = now()
     where reactor_checkpoint.position < excluded.position`,
    [[...positions.keys()], [...positions.values()].map(String)],
  );
}

export type PositionKeeper = Readonly<{
  /** Some reactor may have come further: saved within a moment, with what moves until then. */
  moved: () => void;
  /** Saves what is not saved yet, unless the database is away. */
  close: () => Promise<void>;
}>;

/** Saves how far all reactors are in one go, from time to time while they move. */
export function keepPositions(
  { db, log }: Readonly<{ db: Knex; log: Pick<Logger, "warn"> }>,
  start: Positions,
  reached: () => Positions,
): PositionKeeper {
  const saved = new Map(start);
  let timer: NodeJS.Timeout | undefined;
  let saving = Promise.resolve();
  let closed = false;
  const report = occasionally((error: unknown, suppressed: number) =>
    log.warn({ err: error, suppressed }, "positions of reactors are not saved, trying again"),
  );

  const save = async (): Promise<void> => {
    const isNew = ([name, position]: readonly [string, bigint]): boolean =>
      position > (saved.get(name) ?? beforeEverything);
    const moves = new Map([...reached()].filter(isNew));
    try {
      await saveReactorPositions(db, moves);
      for (const [name, position] of moves) saved.set(name, position);
    } catch (error) {
      report(error);
      moved();
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
