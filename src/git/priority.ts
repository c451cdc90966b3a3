import type { ChildProcess } from "node:child_process";
import { availableParallelism, setPriority } from "node:os";

/** Of 19: a processor that is wanted by both goes to the other nine times of ten; setpriority(2). */
const patience = 10;
/** The same for a crowd, all of which is slowed down by one another anyway. */
const patienceInCrowd = 19;

const packing = new Set<ChildProcess>();

/**
 * Lets what makes or takes in packs wait behind what answers reads, as soon as there is so much of it that
 * no processor would be left for these. To be called in the turn that started the child: threads and
 * children it has later inherit it, those it has already do not.
 */
export function shareProcessors(child: ChildProcess): void {
  const crowded = packing.size >= availableParallelism() / 2;
  packing.add(child);
  child.once("close", () => packing.delete(child));
  if (crowded) yieldProcessor(child, patienceInCrowd);
}

/** Lets it wait behind all work that a client waits for. To be called in the turn that started it. */
export function yieldProcessor({ pid }: ChildProcess, priority = patience): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, priority);
  } catch {
    // It has ended already, or this system does not let us: it goes on as it is.
  }
}
