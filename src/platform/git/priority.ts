import type { ChildProcess } from "node:child_process";
import { setPriority } from "node:os";

/** Of 19: a processor that is wanted by both goes to the other nine times of ten; setpriority(2). */
const patience = 10;

/**
 * Lets what makes or takes in packs wait behind what answers reads. To be called in the turn that
 * started the child: threads and children it has later inherit it, those it has already do not.
 */
export function yieldProcessor({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, patience);
  } catch {
    // It has ended already, or this system does not let us: it goes on as it is.
  }
}
