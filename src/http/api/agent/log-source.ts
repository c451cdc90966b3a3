import { findRun, type RunKey, readLog } from "../../../platform/job-log/store.ts";
import { findJobLog } from "../../../projections/agent/job-log.ts";
import type { Deps } from "../../core/deps.ts";

type Sources = Pick<Deps, "db" | "blobs">;

/** The log of a run: as it grows, or the blob that it became. */
export type FoundLog = Readonly<{
  key: RunKey;
  bytes: number;
  /** Null while it grows, and until its blob is stored. */
  sha256: string | null;
}>;

/** Undefined when no agent was given the run. */
export async function findLog(
  { db }: Pick<Sources, "db">,
  { job_id, attempt }: RunKey,
): Promise<FoundLog | undefined> {
  const key = { job_id, attempt };
  const kept = await findJobLog(db, key);
  if (kept !== undefined) return { key, bytes: Number(kept.bytes), sha256: kept.sha256 };
  const run = await findRun(db, key);
  return run && { key, bytes: Number(run.stored), sha256: null };
}

/** @param portion both ends are part of it */
export async function* readFoundLog(
  { db, blobs }: Sources,
  { key, sha256 }: FoundLog,
  { first, last }: Readonly<{ first: number; last: number }>,
): AsyncGenerator<Buffer> {
  let at = first;
  if (sha256 === null) {
    for await (const part of readLog(db, key, { first, last })) {
      at += part.length;
      yield part;
    }
  }
  if (at > last) return;
  // It may have become a blob while it was read.
  const digest = sha256 ?? (await findJobLog(db, key))?.sha256;
  if (digest === undefined) return;
  for await (const part of await blobs.read(digest, { first: at, last })) yield part as Buffer;
}
