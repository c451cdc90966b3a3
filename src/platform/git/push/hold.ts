import { execFile, spawnSync } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";

import { gitEnvironment } from "../environment.ts";

const run = promisify(execFile);
const exitHeld = 75;
/** On one command line. */
const namesAtOnce = 500;

const holdOf = (gitDir: string): string => path.join(gitDir, "objects", "pushing");

type Command = readonly [program: string, args: readonly string[]];

/**
 * A git that takes a push in or changes refs, holding a shared lock (flock(2)) on a file of the repository. The programs it
 * starts inherit the lock, which ends with the last of them, however it ends: that nobody holds it means
 * that nobody is at a push, in whichever process or container of whichever machine.
 */
export function heldPush(gitDir: string, args: readonly string[]): Command {
  if (!canHold()) return ["git", args];
  return ["flock", ["--no-fork", "--shared", holdOf(gitDir), "git", ...args]];
}

/**
 * Removes what killed programs of heldPush left. Does nothing while a push to the repository is under way;
 * a push that begins meanwhile waits until this is done.
 *
 * @param directories paths of directories and files, all made by such programs
 */
export async function removeOfDeadPushes(
  gitDir: string,
  directories: readonly string[],
): Promise<void> {
  if (!canHold()) return;
  for (let at = 0; at < directories.length; at += namesAtOnce) {
    const some = directories.slice(at, at + namesAtOnce);
    const removal = [holdOf(gitDir), "rm", "-rf", "--", ...some];
    const alone = ["--exclusive", "--nonblock", "--conflict-exit-code", String(exitHeld)];
    try {
      await run("flock", [...alone, ...removal], { cwd: "/", env: gitEnvironment() });
    } catch (error) {
      if ((error as { code?: unknown }).code === exitHeld) return;
      throw error;
    }
  }
}

let known: boolean | undefined;

/** Whether the machine has util-linux's flock, which can become the program it runs; checked once. */
function canHold(): boolean {
  known ??=
    spawnSync("flock", ["--no-fork", "--shared", "/dev/null", "true"], {
      env: gitEnvironment(),
      timeout: 5_000,
    }).status === 0;
  return known;
}
