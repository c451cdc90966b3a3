import { setImmediate as nextTurn } from "node:timers/promises";

const workMaxMs = 10;

/**
 * For loops over what a request brings: awaited in each turn, it lets other requests go on whenever the
 * loop has kept the event loop for 10 ms.
 */
export function breather(): () => Promise<void> {
  let since = performance.now();
  return async () => {
    if (performance.now() - since < workMaxMs) return;
    await nextTurn();
    since = performance.now();
  };
}
