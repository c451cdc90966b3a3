import { execFile, spawnSync } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";

import { gitEnvironment } from "../environment.ts";

const run = promisify(execFile);
const exitHeld = 75;
/** On one command line. */
const namesAtOnce = 500;

/** What a program may be at: the names of the files that are locked meanwhile. */
export type Hold = "pushing" | "upkeep";

const fileOf = (gitDir: string, hold: Hold): string => path.join(gitDir, "objects", hold);

type Command = readonly [program: string, args: readonly string[]];

/**
 * A git that takes a push in or changes refs ("pushing"), or that packs ("upkeep"), holding a shared lock (flock(2)) on a
 * file of the repository. The programs it starts inherit the lock, which ends with the last of them, also when that is
 * killed. Where no program holds the lock, none is at work, on any machine that shares the repository.
 */
export function held(gitDir: string, hold: Hold, args: readonly string[]): Command {
  if (!canHold()) return ["git", args];
  return ["flock", ["--no-fork", "--shared", fileOf(gitDir, hold), "git", ...args]];
}

/**
 * Removes what killed programs left that held this. Does nothing while one of them is at the repository; one that
 * begins meanwhile waits until this is done.
 *
 * @param files paths of directories and files, all made by programs that hold this
 */
export async function removeOfDead(
  gitDir: string,
  hold: Hold,
  files: readonly string[],
): Promise<void> {
  if (!canHold()) return;
  for (let at = 0; at < files.length; at += namesAtOnce) {
    const some = files.slice(at, at + namesAtOnce);
    const removal = [fileOf(gitDir, hold), "rm", "-rf", "--", ...some];
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
