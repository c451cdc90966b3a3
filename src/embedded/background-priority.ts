import { readFileSync, writeFileSync } from "node:fs";
import os from "node:os";

/** A third of the processor time that a process beside it gets while there is too little; all of it otherwise. */
const niceness = 5;
/** Linux schedules sessions against one another by it, and processes only within their session; sched(7). */
const sessionPriority = "/proc/self/autogroup";

/**
 * Has this process, and those it starts from now on, wait for processes that requests wait for. Does nothing where
 * that is not allowed.
 */
export function workInBackground(): void {
  try {
    os.setPriority(Math.max(os.getPriority(), niceness));
    // It is there, and refuses, where sessions are not scheduled so.
    if (/ nice 0$/.test(readFileSync(sessionPriority, "utf8").trim())) {
      writeFileSync(sessionPriority, String(niceness));
    }
  } catch {
    // Everything works with equal priorities as well.
  }
}
