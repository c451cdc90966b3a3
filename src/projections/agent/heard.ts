import type { Knex } from "knex";

import { listenPingMs } from "../../platform/postgres.ts";
import { listenerName } from "../progress/visible.ts";

/** A machine that is gone leaves its session behind, which sends nothing any more. */
const silentSessionMs = 3 * listenPingMs;

/**
 * Since when a process of the role `http` has been up without a pause, as far as those show that are up now: agents
 * reach no other role, so their silence counts from then on. Null while there is none.
 *
 * The session in which the process listens ends with it, however it ends.
 */
export async function heardSince(db: Knex): Promise<Date | null> {
  const { rows } = await db.raw<{ rows: readonly Readonly<{ since: Date | null }>[] }>(
    `select min(backend_start) as since from pg_stat_activity
     where datname = current_database() and application_name = ?
       and state_change > clock_timestamp() - ? * interval '1 millisecond'`,
    [listenerName("http"), silentSessionMs],
  );
  return rows[0]?.since ?? null;
}
