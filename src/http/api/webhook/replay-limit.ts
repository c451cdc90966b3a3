import { keyedLock } from "../../../platform/keyed-lock.ts";
import { Limit } from "../../../platform/limit.ts";
import { takeLock } from "../../../platform/postgres/lock.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { untilVisible } from "../../../projections/progress/visible.ts";
import { countRunningReplays } from "../../../projections/webhook/replay.ts";
import type { Deps } from "../../core/deps.ts";

/** Of all webhooks of a project, at once. */
const runningMax = 5;

/** Each holds a connection while it waits for its turn and for the read models. */
const requestsAtOnce = new Limit({
  name: "webhook.replay_requests",
  total: 2,
  share: 1,
  whenFull: "wait",
});
/** Those of one project wait for each other before they take a slot, so that the other one is for other projects. */
const turns = keyedLock();

type Replay = Readonly<{ projectId: string; replayId: string }>;

/**
 * Appends the request of a replay unless as many of the project run as may. Requests of one project take turns, in
 * all processes, and each counts when the read models have passed everything that was appended before it.
 *
 * @throws Refusal 409 `webhook_replay.too_many_running`; 503 when the read models do not get so far in time
 */
export function withinRunningLimit<Result>(
  { projectId, replayId }: Replay,
  { db, store, visible }: Pick<Deps, "db" | "store" | "visible">,
  append: () => Promise<Result>,
): Promise<Result> {
  const inTransaction = () =>
    db.transaction(async (tx) => {
      const lock = `webhook replays of ${projectId}`;
      await takeLock(tx, lock);
      await untilVisible(visible, await store.head());
      if ((await countRunningReplays(db, projectId, replayId)) < runningMax) return append();
      const message = `At most ${runningMax} replays of a project run at once.`;
      throw new Refusal("conflict", "webhook_replay.too_many_running", message);
    });
  return turns(projectId, () => requestsAtOnce.run(inTransaction));
}
