import { setMaxListeners } from "node:events";
import { currentRun } from "../../platform/postgres/run.ts";
import { mustReach } from "../../projections/core/log-age.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import {
  keepPositions,
  type PositionsLost,
  readReactorPositions,
} from "../../services/core/reactor-checkpoint.ts";
import type { Reactor } from "./reactor.ts";
import { startReactorLoop } from "./reactor-loop.ts";

/**
 * Feeds all reactors from one subscription until the signal aborts. Each goes on by itself from its
 * own checkpoint; one that fails tries the same event again. An event that cannot succeed is set
 * aside, see core/set-aside.ts. Checkpoints are saved after the work they record, so a crash in between
 * repeats it under the same ids.
 *
 * @throws PositionsLost after a crash of PostgreSQL: start again, from the stored positions; LogTooOld when
 *   the log ends before a stored position
 */
export async function runReactors(
  reactors: readonly Reactor[],
  deps: WorkerDeps,
  stopping: AbortSignal,
): Promise<void> {
  const lost = new AbortController();
  const signal = AbortSignal.any([stopping, lost.signal]);
  // Each loop listens for the end, and none of them for longer.
  setMaxListeners(reactors.length + 10, signal);
  const names = reactors.map(({ name }) => name);
  // Read first: positions that are reached after a crash must not count as reached before it.
  const { id: runId } = await currentRun(deps.db);
  const positions = await readReactorPositions(deps.db, names);
  await mustReach(
    deps.store,
    [...positions.values()].reduce((a, b) => (a > b ? a : b), -1n),
  );
  const onMoved = (): void => keeper.moved();
  const loops = reactors.map((reactor) => {
    const start = positions.get(reactor.name) ?? -1n;
    return { name: reactor.name, ...startReactorLoop({ reactor, start, deps, onMoved, signal }) };
  });
  const reached = () => new Map(loops.map((loop) => [loop.name, loop.reached()]));
  const onLost = (error: PositionsLost): void => lost.abort(error);
  const keeper = keepPositions(deps, { start: positions, reached, runId, onLost });
  const first = [...positions.values()].reduce((a, b) => (a < b ? a : b), 2n ** 63n);
  try {
    const after = first < 0n ? undefined : first;
    for await (const item of deps.store.subscribeAll({ after, signal })) {
      if (item.kind === "caughtUp") continue;
      const event = item.kind === "event" ? item.event : undefined;
      const position = item.kind === "event" ? item.event.position : item.position;
      for (const loop of loops) await loop.offer(position, event);
      keeper.moved();
    }
  } finally {
    for (const loop of loops) loop.close();
    await Promise.all(loops.map(({ ended }) => ended));
    await keeper.close();
  }
  lost.signal.throwIfAborted();
}
