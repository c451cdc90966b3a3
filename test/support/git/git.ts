import { type ExecFileException, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, open, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { flushPacket, packet } from "../../../src/git/pkt-line.ts";
import { removal } from "../app/removal.ts";

export type Ran = Readonly<{ exitCode: number; stdout: string; stderr: string }>;

/** A directory for the calling test file, removed when the file ends. */
export async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), "ledgerforge-"));
  after(() => rm(directory, removal));
  return directory;
}

const person = {
  GIT_AUTHOR_NAME: "Anna Author",
  GIT_AUTHOR_EMAIL: "anna@example.test",
  GIT_COMMITTER_NAME: "Carl Committer",
  GIT_COMMITTER_EMAIL: "carl@example.test",
};

/** Neither a process that looks for maintenance after each commit, nor examples of hooks in each repository. */
const settings = { "maintenance.auto": "false", "init.templateDir": "" };
const settingsOf = Object.entries(settings).flatMap(([key, value], index) => [
  [`GIT_CONFIG_KEY_${index}`, key],
  [`GIT_CONFIG_VALUE_${index}`, value],
]);

/** What a user's git runs with: nothing of the machine's configuration, no prompts. */
export function clientEnvironment(home: string): Record<string, string> {
  return {
    PATH: process.env["PATH"] ?? "/usr/bin:/bin",
    HOME: home,
    LC_ALL: "C.UTF-8",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_TERMINAL_PROMPT: "0",
    GIT_ASKPASS: "/bin/false",
    GIT_CONFIG_COUNT: String(settingsOf.length / 2),
    ...Object.fromEntries(settingsOf),
    ...person,
  };
}

/** Runs the user's git and gives back how it ended, whatever that was. */
export function tryGit(
  cwd: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  return new Promise((resolve) => {
    execFile(
      "git",
      args,
      { cwd, env: { ...clientEnvironment(cwd), ...env }, maxBuffer: 256 * 1024 ** 2 },
      (error: ExecFileException | null, stdout, stderr) => {
        const exitCode = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
        resolve({ exitCode, stdout: stdout.trimEnd(), stderr });
      },
    );
  });
}

/** Runs the user's git and answers what it printed. @throws when it fails */
export async function git(cwd: string, ...args: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await tryGit(cwd, args);
  if (exitCode !== 0) throw new Error(`git ${args.join(" ")} ended with ${exitCode}: ${stderr}`);
  return stdout;
}

/** An empty working copy on branch `main`. */
export async function workingCopy(parent: string, name: string): Promise<string> {
  const directory = path.join(parent, name);
  await mkdir(directory, { recursive: true });
  await git(directory, "init", "--quiet", "--initial-branch=main");
  return directory;
}

/** Writes the files and commits them; answers the commit's id. */
export async function commit(
  directory: string,
  message: string,
  files: Readonly<Record<string, string | Buffer>> = {},
): Promise<string> {
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(directory, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, content);
  }
  await git(directory, "add", "--all");
  await git(directory, "commit", "--quiet", "--allow-empty", "-m", message);
  return head(directory);
}

/** The commit that HEAD stands at; read from where git writes it, which spares a process. */
async function head(directory: string): Promise<string> {
  const read = (name: string) => readFile(path.join(directory, ".git", name), "utf8");
  const text = (await read("HEAD").catch(() => "")).trim();
  const id = text.startsWith("ref: ") ? await read(text.slice(5)).catch(() => "") : text;
  return /^[0-9a-f]{40}\n?$/.test(id) ? id.trim() : git(directory, "rev-parse", "HEAD");
}

/** Puts each object of a repository into a file of its own, so that single ones can be damaged. */
export async function unpackObjects(gitDir: string): Promise<void> {
  const packs = path.join(gitDir, "objects", "pack");
  const aside = await mkdtemp(path.join(gitDir, "aside-"));
  for (const name of await readdir(packs)) {
    await rename(path.join(packs, name), path.join(aside, name));
  }
  for (const name of await readdir(aside)) {
    if (!name.endsWith(".pack")) continue;
    const input = await open(path.join(aside, name));
    const child = spawn("git", ["--git-dir=.", "unpack-objects", "-q"], {
      cwd: gitDir,
      stdio: [input.fd, "ignore", "inherit"],
    });
    const [code] = (await once(child, "close")) as [number];
    await input.close();
    if (code !== 0) throw new Error(`git unpack-objects ended with ${code}`);
  }
  await rm(aside, { recursive: true });
}

/** The body of a request of protocol version 2 for a commit and the tags of what comes with it. */
export function fetchRequest(commitId: string, ...capabilities: readonly string[]): Buffer {
  const lines = ["include-tag", "no-progress", `want ${commitId}`, "done"];
  const parts = [
    packet("command=fetch"),
    ...capabilities.map((line) => packet(line)),
    Buffer.from("0001"),
    ...lines.map((line) => packet(line)),
  ];
  return Buffer.concat([...parts, flushPacket]);
}
