import { LRUCache } from "lru-cache";

import { type MaskedForms, maskedForms } from "../../platform/job-log/mask.ts";
import { jobPayload } from "../../workers/pipeline/payload.ts";
import type { Deps } from "../core/deps.ts";
import type { ProvedRun } from "./job-proof.ts";

/** By token hash of the run; putting them together opens every variable of the job. */
const known = new LRUCache<string, MaskedForms>({ max: 1_000, ttl: 10 * 60_000 });

/** Keeps them for the log that this process will probably be sent. */
export function keepMasks(
  tokenHash: string,
  token: string,
  masked: readonly string[],
): MaskedForms {
  const forms = maskedForms([token, ...masked]);
  known.set(tokenHash, forms);
  return forms;
}

/** What may not stand in the log of a run: masked variables and its token. */
export async function masksOf(deps: Deps, { job, run, token }: ProvedRun): Promise<MaskedForms> {
  const cached = known.get(run.token_hash);
  if (cached !== undefined) return cached;
  const payload = await jobPayload(deps, job, token);
  return keepMasks(run.token_hash, token, payload?.masked ?? []);
}
