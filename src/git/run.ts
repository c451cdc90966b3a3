import { spawn } from "node:child_process";
import { Limit } from "../platform/limit.ts";
import { gitEnvironment, memoryLimit } from "./environment.ts";
import { GitFailure } from "./failure.ts";
import { lastText } from "./last-text.ts";
import { yieldProcessor } from "./priority.ts";
import { type Hold, held } from "./push/hold.ts";

export type RunOptions = Readonly<{
  /** Exit codes that are an answer, not a failure. */
  okCodes?: readonly number[];
  /** The child is killed when it prints more. */
  bytesMax?: number;
  timeoutMs?: number;
  /** How the child is ended then; at SIGTERM git takes its lock files with it. */
  killSignal?: "SIGKILL" | "SIGTERM";
  signal?: AbortSignal;
  /**
   * What the command reads; nothing when not given. A command that is started before its input is known reads nothing
   * when the promise is rejected; its time counts from then on.
   */
  input?: string | Buffer | Promise<string>;
  /** Variables beside those of every git child. */
  env?: Readonly<Record<string, string>>;
  /** Commands that write wait for each other, never behind those that walk histories. */
  writes?: boolean;
  /** Given what the child prints as it comes; nothing of it is kept then. */
  onStdout?: (chunk: Buffer) => void;
  /** Waits for a processor behind what answers reads. */
  patient?: boolean;
  /** Largest address space of the child and its children, where the machine's shell can limit it. */
  memoryBytesMax?: number;
  /** Whose locks it takes, of refs or of packs: as long as it lives, those that are there may be its own; see push/hold.ts. */
  holds?: Hold;
  /** Configuration above that of every git child. */
  settings?: Readonly<Record<string, string>>;
}>;

export type RunResult = Readonly<{ exitCode: number; stdout: Buffer }>;

/** Commands that walk histories take a processor each: more at once would only wait for each other. */
const waiting = { total: 8, whenFull: "wait", keepsTurn: true } as const;
const commandsAtOnce = new Limit({ name: "git.commands", ...waiting });
const writesAtOnce = new Limit({ name: "git.writes", ...waiting });
/** Longer than the checks that come before an input is known. */
const inputMaxMs = 300_000;

/**
 * Runs one git command on a repository to its end. Arguments go to the program directly, never
 * through a shell; what a caller named must follow `--end-of-options` or `--`.
 *
 * @throws GitFailure on any other exit code, too much output, or when the time is over.
 */
export function runGit(
  gitDir: string,
  args: readonly [command: string, ...rest: string[]],
  options: RunOptions = {},
): Promise<RunResult> {
  const limit = options.writes === true ? writesAtOnce : commandsAtOnce;
  return limit.run(() => start(gitDir, args, options));
}

function start(
  gitDir: string,
  args: readonly [command: string, ...rest: string[]],
  options: RunOptions,
): Promise<RunResult> {
  const { okCodes = [0], bytesMax = 64 * 1024 ** 2, timeoutMs = 60_000, signal, input } = options;
  const [name] = args;
  return new Promise((resolve, reject) => {
    const settings = Object.entries(options.settings ?? {}).flatMap(([key, value]) => [
      "-c",
      `${key}=${value}`,
    ]);
    const all = [`--git-dir=${gitDir}`, ...settings, ...args];
    let startedAt = performance.now();
    const killSignal = options.killSignal ?? "SIGKILL";
    const { holds } = options;
    const command = holds === undefined ? (["git", all] as const) : held(gitDir, holds, all);
    const child = spawn(...within(options.memoryBytesMax, command), {
      cwd: "/",
      env: gitEnvironment({ ...memoryLimit, ...options.env }),
      stdio: ["pipe", "pipe", "pipe"],
      timeout: input instanceof Promise ? inputMaxMs + timeoutMs : timeoutMs,
      killSignal,
      ...(signal && { signal }),
    });
    if (options.patient === true) yieldProcessor(child);
    const chunks: Buffer[] = [];
    let bytes = 0;
    // It may end without reading all of it: its exit code says why.
    child.stdin.on("error", () => undefined);
    if (input instanceof Promise) {
      const give = (text: string): void => {
        startedAt = performance.now();
        const limit = setTimeout(() => child.kill(killSignal), timeoutMs);
        child.once("close", () => clearTimeout(limit));
        child.stdin.end(text);
      };
      input.then(give, () => give(""));
    } else child.stdin.end(input ?? "");
    child.stdout.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > bytesMax) child.kill("SIGKILL");
      else if (options.onStdout !== undefined) options.onStdout(chunk);
      else chunks.push(chunk);
    });
    const stderr = lastText(child.stderr);
    child.on("error", reject);
    child.on("close", (exitCode) => {
      if (exitCode !== null && okCodes.includes(exitCode) && bytes <= bytesMax) {
        resolve({ exitCode, stdout: Buffer.concat(chunks) });
      } else {
        const why = bytes > bytesMax ? `printed more than ${bytesMax} bytes` : stderr();
        const timedOut = exitCode === null && performance.now() - startedAt >= timeoutMs;
        reject(new GitFailure(name, exitCode, why, timedOut));
      }
    });
  });
}

/** `ulimit -v` counts in KiB. The shell becomes the program, so that ending the one ends the other. */
const limited = 'ulimit -v "$1" 2>/dev/null; shift; exec "$@"';

type Command = readonly [program: string, args: readonly string[]];

function within(memoryBytesMax: number | undefined, [program, args]: Command): Command {
  if (memoryBytesMax === undefined) return [program, args];
  const kibibytes = String(Math.floor(memoryBytesMax / 1024));
  return ["sh", ["-c", limited, "sh", kibibytes, program, ...args]];
}
