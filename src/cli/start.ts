import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";

import {
  ConfigError,
  inheritedEnvironment,
  readSettings,
  requireStores,
  type Settings,
} from "../config.ts";
import { workInBackground } from "../embedded/background-priority.ts";
import { releaseIdleMemory } from "../embedded/idle-memory.ts";
import { keepPrivate } from "../embedded/private-directory.ts";
import { supervise } from "../embedded/supervisor.ts";
import { forgetFirstPassword } from "../first-administrator.ts";
import { preload, type RoleName, type RunningRoles, roleNames, startRoles } from "../main.ts";
import { UnsupportedServer } from "../platform/event-store/event-store.ts";
import { WrongSecretKey } from "../platform/key/vault.ts";
import { KeysLost } from "../projections/audit/lost-keys.ts";
import { LogNotWhole } from "../services/core/reactor-hold.ts";
import { type StopSignal, stopSignal } from "./stop-signal.ts";
import { suppliedSettings } from "./supervised.ts";
import { type Welcome, welcome } from "./welcome.ts";
import { printable, write } from "./write.ts";

/** All of a Ctrl-C; a role in a process of its own has a little less, to end before it is killed. */
const closeLimitMs = 10_000;
const roleCloseLimitMs = 6_000;

/**
 * Without arguments everything on this machine, supervised; with names of roles only those, in this
 * process, on stores given by their addresses.
 */
export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: { supervised: { type: "boolean", default: false } },
    allowPositionals: true,
  });
  if (positionals.includes(agentRole)) return runAgentRole(positionals);
  const unknown = positionals.filter((name) => !(roleNames as readonly string[]).includes(name));
  if (unknown.length > 0) {
    throw new ConfigError(
      `No role named ${unknown.join(", ")}; there are ${[...roleNames, agentRole].join(", ")}.`,
    );
  }
  if (positionals.length === 0) return runEverything(readSettings());
  return runRoles(positionals as readonly RoleName[], values.supervised);
}

const agentRole = "agent";

/** It needs no stores, and shares no process with what does: it runs scripts of others. */
async function runAgentRole(names: readonly string[]): Promise<number> {
  if (names.length > 1) throw new ConfigError("The role agent is started alone.");
  const { runAgentOf, signals } = await import("./agent.ts");
  const file = path.join(readSettings().dataDir, "agent", "config.json");
  await runAgentOf(file, { once: false }, signals());
  return 0;
}

async function runRoles(names: readonly RoleName[], supervised: boolean): Promise<number> {
  const stop = stopSignal(roleCloseLimitMs);
  // Fails again, and is reported, where the modules are used.
  if (supervised) preload(names).catch(() => undefined);
  const supplied = supervised ? await suppliedSettings(stop) : {};
  if (supplied === undefined) return 0;
  const config = requireStores(readSettings({ ...inheritedEnvironment(), ...supplied }));
  for (const text of await keepPrivate(config.dataDir)) write(process.stderr, `${text}\n`);
  const onWaiting = (why: string): void => {
    const line = printable(why);
    if (supervised) process.send?.({ waiting: line });
    else write(process.stderr, `${line}\n`);
  };
  const starting = startRoles(config, names, { signal: stop.signal, onWaiting });
  const roles = await starting.catch((error: unknown) => {
    if (stop.signal.aborted) return undefined;
    throw isExpected(error) ? new ConfigError(`${error.message}.`) : error;
  });
  if (roles === undefined) return 0;
  // In the session of its own that a supervisor gives it.
  if (supervised && names.every((name) => name === "workers")) workInBackground();
  if (supervised) releaseIdleMemory();
  const { url, administrator } = roles;
  if (supervised) process.send?.({ ready: { url, administrator } });
  else if (url !== undefined) await greet(config.dataDir, { url, administrator });

  await stop.stopped;
  await roles.close();
  return 0;
}

/** Refusals of a start, which one line explains. */
function isExpected(error: unknown): error is Error {
  return [UnsupportedServer, WrongSecretKey, KeysLost, LogNotWhole].some(
    (kind) => error instanceof kind,
  );
}

/** Beside the logs, because a password must not get into them. */
async function greet(dataDir: string, about: Welcome): Promise<void> {
  write(process.stderr, welcome(about));
  await forgetFirstPassword(dataDir);
}

/** Longer than the read models of a fresh service take by far. */
const readyWithinMs = 60_000;
const readyPollMs = 50;

async function runEverything(settings: Settings): Promise<number> {
  const stop = stopSignal(closeLimitMs);
  try {
    await runSupervised(settings, stop);
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  }
  return 0;
}

async function runSupervised(settings: Settings, stop: StopSignal): Promise<void> {
  const report = (text: string): void => write(process.stderr, `${text}\n`);
  const service = await supervise({
    settings,
    environment: inheritedEnvironment(),
    program: path.resolve(process.argv[1] ?? ""),
    roles: roleNames,
    signal: stop.signal,
    report,
  });
  try {
    const { url, administrator } = service.ready["http"] as RunningRoles;
    if (url !== undefined) await untilReady(url, stop.signal);
    if (url !== undefined && !stop.signal.aborted) {
      await greet(settings.dataDir, { url: settings.publicUrl ?? url, administrator });
    }
    await Promise.race([stop.stopped, service.givenUp]);
    report("Stopping …");
  } finally {
    await service.close();
  }
}

/** The roles run; the read models may still be on their way to the newest event. */
async function untilReady(url: string, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + readyWithinMs;
  while (!signal.aborted && performance.now() < deadline) {
    const answer = await fetch(`${url}/health/ready`, { signal }).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer?.ok === true) return;
    await delay(readyPollMs, undefined, { signal }).catch(() => undefined);
  }
}
