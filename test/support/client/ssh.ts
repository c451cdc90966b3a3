import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import ssh2 from "ssh2";

import type { TestApp, TestUser } from "../app/app.ts";
import type { Ran } from "../git/git.ts";
import { isInstalled } from "../process/program.ts";

const run = promisify(execFile);

export type KeyKind = readonly [type: string, bits?: number];

/**
 * The file of a new private key; the public half is beside it as `.pub`. Without ssh-keygen there is a
 * public half alone, for files that load with it and skip their tests by `needsProgram`.
 */
export async function newKey(directory: string, name: string, kind: KeyKind = ["ed25519"]) {
  const [type, bits] = kind;
  const file = path.join(directory, name);
  if (!isInstalled("ssh-keygen")) return withoutKeygen(file);
  const size = bits === undefined ? [] : ["-b", String(bits)];
  await run("ssh-keygen", ["-q", "-t", type, ...size, "-N", "", "-C", "", "-f", file]);
  return file;
}

async function withoutKeygen(file: string): Promise<string> {
  const type = "ssh-ed25519";
  const parts = [Buffer.from(type), randomBytes(32)].map((part) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(part.length);
    return Buffer.concat([length, part]);
  });
  await writeFile(`${file}.pub`, `${type} ${Buffer.concat(parts).toString("base64")}\n`);
  return file;
}

/** An Ed25519 pair in the library's own form, which is one in 256 times malformed: ssh2, issue 1390. */
export function keyPair() {
  for (;;) {
    const pair = ssh2.utils.generateKeyPairSync("ed25519");
    const texts = [pair.private, pair.public];
    if (texts.every((text) => !(ssh2.utils.parseKey(text) instanceof Error))) return pair;
  }
}

/** Registers the public half with the user, as they would. Answers the key's id. */
export async function registerKey(
  app: TestApp,
  user: TestUser,
  file: string,
  over: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const publicKey = await readFile(`${file}.pub`, "utf8");
  const answer = await app.post("/user/settings/add-ssh-key", {
    token: user.token,
    body: { publicKey, title: path.basename(file), ...over },
  });
  if (answer.status !== 200) throw new Error(answer.text);
  return String(answer.body["uuid"]);
}

/** What ssh(1) is given to log in with one key and nothing of the machine's. */
export function sshOptions(file: string, port: number): readonly string[] {
  return [
    ...["-F", "/dev/null", "-p", String(port), "-i", file],
    ...["-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none", "-o", "BatchMode=yes"],
    ...["-o", "StrictHostKeyChecking=accept-new", "-o", `UserKnownHostsFile=${file}.hosts`],
    ...["-o", "LogLevel=ERROR"],
  ];
}

/** For git's environment: everything it does over SSH is done with this key. */
export function gitWithKey(file: string, port: number): Readonly<Record<string, string>> {
  return { GIT_SSH_COMMAND: ["ssh", ...sshOptions(file, port)].join(" ") };
}

export const sshRemote = (ownerAlias: string, projectAlias: string): string =>
  `git@127.0.0.1:${ownerAlias}/${projectAlias}.git`;

/** The real ssh. Standard input is empty unless something is given. */
export async function ssh(
  args: readonly string[],
  input = "",
  env: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  const child = startSshClient(args, env);
  child.stdin?.on("error", () => undefined);
  child.stdin?.end(input);
  let [stdout, stderr] = ["", ""];
  child.stdout?.on("data", (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr?.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const [code] = (await once(child, "close")) as [number | null];
  return { exitCode: code ?? -1, stdout, stderr };
}

export function startSshClient(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): ChildProcess {
  return spawn("ssh", [...args], {
    env: { PATH: process.env["PATH"] ?? "", HOME: "/nonexistent", ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
}
