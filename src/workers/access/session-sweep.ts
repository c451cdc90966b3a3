import { session } from "../../commands/access/session.ts";
import { handle } from "../../commands/core/handle.ts";
import { bySystem } from "../../events/core/system.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { idleSessions } from "../../projections/access/session.ts";
import { findSettings } from "../../projections/instance/settings.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";

/** What is left is swept in the next round. */
const sessionsMax = 200;

/** Records the end of sessions that have expired and could not be used any more. */
export async function sweepSessions({ db, store, now }: WorkerDeps): Promise<void> {
  const { sessionMaxInactiveIntervalMinutes: minutes } = await findSettings(db);
  const before = new Date(now().getTime() - minutes * 60_000);
  for (const id of await idleSessions(db, before, sessionsMax)) {
    const at = now().toISOString();
    const command = { type: "CloseSession", by: null, reason: "IDLE", at } as const;
    const commandId = deterministicId("idle session", id);
    await handle(store, session, { id, command, metadata: bySystem({ commandId }, at) });
  }
  await db("public.session_use")
    .where("seen_at", "<", before)
    .whereNotExists((query) =>
      query.from("session").whereRaw("session.id = session_use.session_id"),
    )
    .delete();
}
