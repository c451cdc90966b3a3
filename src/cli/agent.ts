import { rm } from "node:fs/promises";
import { homedir, hostname } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";

import {
  type AgentConfig,
  executorNames,
  newSystemId,
  pullPolicies,
  readAgentConfig,
  removeAgentConfig,
  workDirectory,
  writeAgentConfig,
} from "../agent/config.ts";
import { openExecutor } from "../agent/executor.ts";
import { registerAgent, unregisterAgent } from "../agent/register.ts";
import { runAgent } from "../agent/run.ts";
import { ConfigError, readSettings } from "../config.ts";
import { withoutTrailing } from "../platform/trim.ts";
import { CommandEnd } from "./command-end.ts";
import { usageOf } from "./help.ts";
import { write } from "./write.ts";

export const agentConfigDefault = (): string =>
  path.join(homedir(), ".config", "ledgerforge", "agent", "config.json");

const report = (text: string): void => write(process.stderr, `${text}\n`);

/** Registers, runs or removes an agent on this machine. It needs no stores. */
export async function run([verb = "", ...args]: readonly string[]): Promise<number> {
  switch (verb) {
    case "register":
      return register(args);
    case "run":
      return runHere(args);
    case "unregister":
      return unregister(args);
    default:
      throw new CommandEnd(usageOf("agent"));
  }
}

const text = { type: "string" } as const;
const flag = { type: "boolean", default: false } as const;

async function register(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...{ url: text, token: text, name: text, tags: text, executor: text, config: text },
      ...{ concurrency: text, readable: { type: "string", multiple: true, default: [] } },
      ...{ "run-untagged": flag, locked: flag, "pull-policy": text },
    } as const,
  });
  const { url = "", token = "", name = hostname(), config: file = agentConfigDefault() } = values;
  if (!URL.canParse(url) || token === "") throw new ConfigError(`--url and --token are needed.`);
  const executor = executorOf(values.executor);
  const concurrency = concurrencyOf(values.concurrency) ?? 1;
  const readable = values.readable.map((each) => path.resolve(each));
  await mustBeNew(file);
  const allowed = pullPoliciesOf(values["pull-policy"]);
  await openExecutor(executor, { readable, hidden: hiddenBy(file), pullPolicies: allowed });
  const tags = (values.tags ?? "").split(",").flatMap((tag) => tag.trim() || []);
  const runUntagged = values["run-untagged"] || tags.length === 0;
  const service = withoutTrailing(url, "/");
  const about = { url: service, name, tags, runUntagged, locked: values.locked, executor };
  const agentToken = await registerAgent({ ...about, registrationToken: token });
  const systemId = newSystemId();
  const config = {
    url: service,
    token: agentToken,
    name,
    systemId,
    executor,
    concurrency,
    readable,
    pullPolicies: [...allowed],
  };
  await writeAgentConfig(file, config);
  report(`Registered ${name}; its token is in ${file}. Start it by: ${startLine(values.config)}`);
  return 0;
}

const startLine = (file: string | undefined): string =>
  `ledgerforge agent run${file === undefined ? "" : ` --config ${file}`}`;

/** A second registration would leave the first one behind, which nobody could remove from here. */
async function mustBeNew(file: string): Promise<void> {
  const known = await readAgentConfig(file).catch(() => undefined);
  if (known === undefined) return;
  throw new ConfigError(`${file} is an agent already: unregister it, or give another --config.`);
}

function executorOf(name = "bubblewrap"): AgentConfig["executor"] {
  const known = executorNames.find((each) => each === name);
  if (known !== undefined) return known;
  throw new ConfigError(`No executor named ${name}; there are ${executorNames.join(", ")}.`);
}

function concurrencyOf(given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  if (/^[1-9]\d{0,2}$/.test(given)) return Number(given);
  throw new ConfigError("--concurrency must be from 1 to 999.");
}

/** The first one is the default of jobs. */
function pullPoliciesOf(given = "always"): AgentConfig["pullPolicies"] {
  return given.split(",").map((each) => {
    const known = pullPolicies.find((policy) => policy === each.trim());
    if (known !== undefined) return known;
    throw new ConfigError(`No pull policy named ${each}; there are ${pullPolicies.join(", ")}.`);
  });
}

async function runHere(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: { config: text, concurrency: text, once: flag },
  });
  const { config: file = agentConfigDefault(), once } = values;
  const concurrency = concurrencyOf(values.concurrency);
  await runAgentOf(file, { once, ...(concurrency !== undefined && { concurrency }) }, signals());
  return 0;
}

export type AgentSignals = Readonly<{ stop: AbortSignal; giveBack: AbortSignal }>;

/** Runs the agent of a configuration until stopped. */
export async function runAgentOf(
  file: string,
  options: Readonly<{ once: boolean; concurrency?: number }>,
  { stop, giveBack }: AgentSignals,
): Promise<void> {
  const stored = await readAgentConfig(file);
  const config = { ...stored, concurrency: options.concurrency ?? stored.concurrency };
  const directory = await workDirectory(file);
  await runAgent({
    ...{ config, workDirectory: directory, hidden: hiddenBy(file) },
    ...{ once: options.once, stop, giveBack, report },
  });
}

/** The agent's token, and what a service on the same machine keeps: its keys and repositories. */
const hiddenBy = (file: string): readonly string[] => [
  path.dirname(path.resolve(file)),
  readSettings().dataDir,
];

/**
 * Ctrl-C and SIGQUIT let running jobs finish; a second Ctrl-C, or SIGTERM, gives them back: they fail as
 * `runner_interrupted`, and the service retries those whose pipeline file requests it.
 */
export function signals(): AgentSignals {
  const stop = new AbortController();
  const giveBack = new AbortController();
  const end = (): void => {
    stop.abort();
    giveBack.abort();
  };
  const finish = (): void => {
    if (stop.signal.aborted) {
      end();
      return;
    }
    report("Stopping when the jobs that run have ended; again to give them back.");
    stop.abort();
  };
  process.on("SIGINT", finish);
  process.on("SIGQUIT", finish);
  for (const name of ["SIGTERM", "SIGHUP"] as const) process.on(name, end);
  return { stop: stop.signal, giveBack: giveBack.signal };
}

async function unregister(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: { config: text } });
  const { config: file = agentConfigDefault() } = values;
  await unregisterAgent(await readAgentConfig(file));
  await rm(await workDirectory(file), { recursive: true, force: true });
  await removeAgentConfig(file);
  report("The agent is removed.");
  return 0;
}
