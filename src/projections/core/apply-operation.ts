import type { Recorded } from "../../events/core/event.ts";
import {
  asOperation,
  isOutsideOperations,
  isSuspended,
} from "../../platform/event-loop/operation.ts";

/**
 * Applies events as an operation of their own, by which the watcher of the event loop names them. Requests for the
 * past apply events as well, and remain the operation then.
 *
 * @throws Error when applying them has stopped the process twice
 */
export async function applyAsOperation<Result>(
  { name }: Readonly<{ name: string }>,
  events: readonly Recorded[],
  apply: () => Promise<Result>,
): Promise<Result> {
  const [first] = events;
  if (first === undefined || !isOutsideOperations()) return await apply();
  // After a kill, a batch begins with the same event, but may end with another one.
  const others = events.length > 1 ? " and later" : "";
  const caller = `${first.type} at ${first.position}${others}`;
  const running = { name: `projection-${name}`, caller };
  if (isSuspended(running)) throw new Error(`${caller} has stopped the process twice`);
  return await asOperation(running, apply);
}
