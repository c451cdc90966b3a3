import { randomBytes } from "node:crypto";
import { chmod, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";

import { ConfigError } from "../config.ts";

export const executorNames = ["bubblewrap", "shell", "docker"] as const;
export type ExecutorName = (typeof executorNames)[number];

export const pullPolicies = ["always", "if-not-present", "never"] as const;
export type PullPolicy = (typeof pullPolicies)[number];

/** What an agent keeps between its starts. The file is for its owner alone: it holds the token. */
export const AgentConfig = z.object({
  /** Of the service, without a slash at the end. */
  url: z.url({ protocol: /^https?$/ }),
  token: z.string().min(1),
  name: z.string(),
  /** Distinguishes machines that use one token. */
  systemId: z.string().min(1),
  executor: z.enum(executorNames),
  /** How many jobs run at once. */
  concurrency: z.int().min(1).max(1_000),
  /** Further directories that jobs in the sandbox may read. */
  readable: z.array(z.string()).default([]),
  /**
   * What jobs may choose as `pull_policy`; the first one is the default. Where an image may be used without
   * asking its registry, every job of the agent has the private images that others had pulled.
   */
  pullPolicies: z.array(z.enum(pullPolicies)).min(1).default(["always"]),
});
export type AgentConfig = Readonly<z.output<typeof AgentConfig>>;

/** `s_` and 12 characters, as the protocol has it. */
export const newSystemId = (): string => `s_${randomBytes(6).toString("hex")}`;

/** @throws ConfigError when there is none, or it cannot be used */
export async function readAgentConfig(file: string): Promise<AgentConfig> {
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
    throw new ConfigError(
      `There is no agent at ${file}: register one by ledgerforge agent register ` +
        "--url URL --token TOKEN.",
    );
  });
  const parsed = AgentConfig.safeParse(jsonOf(text));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = issue?.path.join(".") ?? "";
  throw new ConfigError(`${file}: ${where} ${issue?.message ?? "is not an agent's configuration"}`);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Replaces the file in one step. */
export async function writeAgentConfig(file: string, config: AgentConfig): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.new`;
  // One that a crash left may have another mode.
  await rm(draft, { force: true });
  const text = `${JSON.stringify(config, undefined, 2)}\n`;
  await writeFile(draft, text, { mode: 0o600, flag: "wx", flush: true });
  await rename(draft, file);
}

export async function removeAgentConfig(file: string): Promise<void> {
  await rm(file, { force: true });
}

/** Where jobs are run and caches kept: beside the configuration. */
export async function workDirectory(configFile: string): Promise<string> {
  const directory = path.join(path.dirname(path.resolve(configFile)), "work");
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await chmod(directory, 0o700);
  return directory;
}
