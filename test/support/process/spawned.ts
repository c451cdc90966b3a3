import type { ChildProcess } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";

/** Command lines of the processes that this one starts while `run` runs, also by other callers. */
export async function spawnedWhile(run: () => Promise<unknown>): Promise<readonly string[]> {
  const started: ChildProcess[] = [];
  const note = (message: unknown): void => {
    started.push((message as { process: ChildProcess }).process);
  };
  subscribe("child_process", note);
  try {
    await run();
  } finally {
    unsubscribe("child_process", note);
  }
  return started.map(({ spawnargs }) => spawnargs.join(" "));
}
