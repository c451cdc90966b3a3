import { spawn } from "node:child_process";

export type Shell = Readonly<{
  /** Runs a program, shows the line a person would have typed, and gives what it printed. */
  run: (program: string, args: readonly string[], options?: RunOptions) => Promise<string>;
  say: (text: string) => void;
  /** From here on this text is shown as `…`. */
  hide: (secret: string) => void;
}>;

export type RunOptions = Readonly<{
  cwd?: string;
  /** Do not show the line: it is repeated, or only prepares. */
  quiet?: boolean;
  /** Added to the environment. */
  env?: Readonly<Record<string, string>>;
}>;

const shownLinesMax = 6;
const shownWidthMax = 160;

/** Programs run with their real configuration kept out: the demo must not depend on yours. */
const cleanEnvironment = {
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_TERMINAL_PROMPT: "0",
  GIT_AUTHOR_NAME: "Demo",
  GIT_AUTHOR_EMAIL: "demo@example.org",
  GIT_COMMITTER_NAME: "Demo",
  GIT_COMMITTER_EMAIL: "demo@example.org",
} as const;

export function openShell(
  write: (text: string) => void,
  environment: Readonly<Record<string, string | undefined>>,
): Shell {
  const secrets: string[] = [];
  const masked = (text: string) =>
    secrets.reduce((shown, secret) => shown.replaceAll(secret, "…"), text);

  return {
    hide: (secret) => secrets.push(secret),
    say: (text) => write(`    ${masked(text)}\n`),
    async run(program, args, { cwd, quiet = false, env = {} } = {}) {
      if (!quiet) write(`    $ ${masked([program, ...args].map(quoted).join(" "))}\n`);
      const { output, errors, code } = await finished(program, args, {
        cwd,
        env: { ...environment, ...cleanEnvironment, ...env },
      });
      if (!quiet) write(excerpt(masked(output.trim() === "" ? errors : output)));
      if (code !== 0) {
        throw new Error(masked(`${program} ended with ${code}: ${errors || output}`).trim());
      }
      return output;
    },
  };
}

type Finished = Readonly<{ output: string; errors: string; code: number | null }>;

function finished(
  program: string,
  args: readonly string[],
  options: Readonly<{ cwd: string | undefined; env: Record<string, string | undefined> }>,
): Promise<Finished> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
    const chunks: { output: Buffer[]; errors: Buffer[] } = { output: [], errors: [] };
    child.stdout.on("data", (chunk: Buffer) => chunks.output.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => chunks.errors.push(chunk));
    child.on("error", reject);
    child.on("close", (code) => {
      const text = (parts: Buffer[]) => Buffer.concat(parts).toString("utf8");
      resolve({ output: text(chunks.output), errors: text(chunks.errors), code });
    });
  });
}

function quoted(argument: string): string {
  return /^[\w@%+=:,./~^-]+$/.test(argument) ? argument : `'${argument}'`;
}

function excerpt(text: string): string {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const shown = lines.slice(0, shownLinesMax).map((line) => {
    return `      ${line.length > shownWidthMax ? `${line.slice(0, shownWidthMax)}…` : line}\n`;
  });
  if (lines.length > shownLinesMax)
    shown.push(`      … ${lines.length - shownLinesMax} lines more\n`);
  return shown.join("");
}
