import { appendFileSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";

import { isRecord } from "../is-record.ts";
import type { Running } from "./operation-memory.ts";

/** A process that was killed because its event loop stood still. */
export type Kill = Readonly<{
  /** Milliseconds since 1970. */
  at: number;
  role: string;
  /** Undefined when the loop ran code of no operation. */
  running: Running | undefined;
}>;

const keptMs = 24 * 60 * 60_000;
const keptMax = 200;

/** Next to what all processes of the instance share; it outlives them. */
export const killFile = (dataDir: string): string => path.join(dataDir, "event-loop-kills.jsonl");

/** Synchronous, as it has to be done before the process is killed. */
export function noteKill(file: string, kill: Kill): void {
  appendFileSync(file, `${JSON.stringify(kill)}\n`, { mode: 0o600 });
}

/** Of the last day, the oldest first. Lines that cannot be read are passed over. */
export function readKills(file: string, now: number): readonly Kill[] {
  return linesOf(file)
    .map(killOf)
    .filter((kill) => kill !== undefined)
    .filter(({ at }) => at > now - keptMs)
    .slice(-keptMax);
}

/** Drops what is not read any more. */
export function pruneKills(file: string, now: number): readonly Kill[] {
  const kills = readKills(file, now);
  if (kills.length === linesOf(file).length) return kills;
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, kills.map((kill) => `${JSON.stringify(kill)}\n`).join(""), { mode: 0o600 });
  renameSync(draft, file);
  return kills;
}

function linesOf(file: string): readonly string[] {
  try {
    return readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => line !== "");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

function killOf(line: string): Kill | undefined {
  try {
    const value: unknown = JSON.parse(line);
    if (!isRecord(value)) return undefined;
    const { at, role, running } = value;
    if (typeof at !== "number" || typeof role !== "string") return undefined;
    return { at, role, running: isRunning(running) ? running : undefined };
  } catch {
    return undefined;
  }
}

function isRunning(value: unknown): value is Running {
  return (
    isRecord(value) && typeof value["name"] === "string" && typeof value["caller"] === "string"
  );
}
