import { spawn } from "node:child_process";

/** Signals a child when the process at the other end of the pipe is gone, for whatever reason. */
const script = 'read x; [ "$x" = ok ] || kill -s "$2" "$1"';

export type Watchdog = Readonly<{
  /** The child ended: its pid may soon belong to another process, so nothing may be killed any more. */
  dismiss: () => void;
}>;

/**
 * Guards a child against the death of this process by `kill -9`, which no handler can see: the kernel
 * closes the pipe, the shell reads its end and signals the child. It runs in a session of its own, so
 * a Ctrl-C in the terminal does not take it away first.
 *
 * @param how name without SIG, as `kill -s` of POSIX takes it.
 */
export function watch(pid: number, how: "INT" | "TERM"): Watchdog {
  const shell = spawn("/bin/sh", ["-c", script, "watchdog", String(pid), how], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  // A watchdog that cannot start or was killed leaves the orphan handling of the next start.
  shell.on("error", () => undefined);
  shell.stdin.on("error", () => undefined);
  shell.unref();
  return { dismiss: () => shell.stdin.end("ok\n") };
}
