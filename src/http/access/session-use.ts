import type { Knex } from "knex";
import { LRUCache } from "lru-cache";

type SessionUseRow = Readonly<{ session_id: string; seen_at: Date }>;

/** A session that is busy is noted this often, by each process. */
const everyMs = 5_000;
const sessionsMax = 10_000;

/** Notes that a session is in use. Every process reads it: what idles here may be busy there. */
export type NoteSession = (sessionId: string, at: Date) => Promise<void>;

export function sessionUse(db: Knex): NoteSession {
  const noted = new LRUCache<string, number>({ max: sessionsMax });
  return async (sessionId, at) => {
    if (at.getTime() - (noted.get(sessionId) ?? 0) < everyMs) return;
    noted.set(sessionId, at.getTime());
    await db<SessionUseRow>("public.session_use")
      .insert({ session_id: sessionId, seen_at: at })
      .onConflict("session_id")
      .merge({ seen_at: db.raw("greatest(session_use.seen_at, excluded.seen_at)") });
  };
}
