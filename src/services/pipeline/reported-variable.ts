import { buffer } from "node:stream/consumers";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";

import { artifactsOf } from "../../projections/agent/artifact.ts";
import type { WorkerDeps } from "../core/deps.ts";

/** Of one report, packed and unpacked. */
const reportBytesMax = 64 * 1024;
const variablesMax = 500;
/** What the service itself says of a job is not for another job to change. */
const isReserved = /^(?:CI|CI_.*|GITLAB_CI)$/;

const unpack = promisify(gunzip);

/**
 * Variables that earlier jobs report by `artifacts: reports: dotenv`; of two jobs the later one wins. A
 * report that is too large or not of the format adds nothing.
 *
 * @param jobs whose artifacts are given to the job, in the order of stages
 */
export async function reportedVariables(
  { db, blobs }: Pick<WorkerDeps, "db" | "blobs">,
  jobs: readonly Readonly<{ id: string }>[],
): Promise<ReadonlyMap<string, string>> {
  const ids = jobs.map(({ id }) => id);
  const rows = ids.length === 0 ? [] : await artifactsOf(db, ids, "dotenv");
  const all = new Map<string, string>();
  for (const id of ids) {
    const row = rows.find((each) => each.job_id === id);
    if (row === undefined || Number(row.bytes) > reportBytesMax) continue;
    const packed = await buffer(await blobs.read(row.sha256));
    const text = await unpack(packed, { maxOutputLength: reportBytesMax }).catch(() => undefined);
    for (const [key, value] of parseDotenv(text?.toString("utf8") ?? "")) all.set(key, value);
  }
  return all;
}

/** `NAME=value` a line, also with `export` in front and the value in quotes; `#` begins a comment line. */
export function parseDotenv(text: string): ReadonlyMap<string, string> {
  const all = new Map<string, string>();
  for (const line of text.split(/\r\n?|\n/)) {
    const sign = line.indexOf("=");
    const key = line
      .slice(0, Math.max(sign, 0))
      .trim()
      .replace(/^export\s+/, "");
    if (!isName.test(key) || isReserved.test(key) || all.size >= variablesMax) continue;
    const value = line.slice(sign + 1).trim();
    all.set(key, isQuoted(value) ? value.slice(1, -1) : value);
  }
  return all;
}

const isName = /^[A-Za-z_][A-Za-z0-9_]*$/;

const isQuoted = (value: string): boolean =>
  value.length > 1 && /^["']/.test(value) && value.at(-1) === value[0];
