import { LRUCache } from "lru-cache";

import { type MaskedForms, maskedForms } from "../../../platform/job-log/mask.ts";
import { type JobPayload, jobPayload } from "../../../services/pipeline/payload.ts";
import type { Deps } from "../../core/deps.ts";
import type { AuthenticatedRun } from "./job-authentication.ts";

type CachedRun = Readonly<{ forms: MaskedForms; makesRelease: boolean }>;

/** By token hash of the run; putting them together opens every variable of the job. */
const known = new LRUCache<string, CachedRun>({
  ...{ max: 1_000, ttl: 10 * 60_000, maxSize: 64 * 1024 ** 2 },
  sizeCalculation: ({ forms }) => forms.reduce((sum, { bytes }) => sum + bytes.length, 1),
});

/** Keeps what later requests to this process about the run will probably need. */
export async function keepRun(
  tokenHash: string,
  token: string,
  payload: Pick<JobPayload, "masked" | "spec"> | undefined,
): Promise<CachedRun> {
  const forms = await maskedForms([token, ...(payload?.masked ?? [])]);
  const run = { forms, makesRelease: payload === undefined || payload.spec.release !== null };
  known.set(tokenHash, run);
  return run;
}

/** What may not stand in the log of a run: masked variables and its token. */
export async function masksOf(
  deps: Deps,
  { job, run, token }: AuthenticatedRun,
): Promise<MaskedForms> {
  const cached = known.get(run.token_hash);
  if (cached !== undefined) return cached.forms;
  const payload = await jobPayload(deps, job, token);
  return (await keepRun(run.token_hash, token, payload)).forms;
}

/** False where the plan of the job is known and has no release: most jobs make none. */
export function mayRelease({ run }: Pick<AuthenticatedRun, "run">): boolean {
  return known.get(run.token_hash)?.makesRelease ?? true;
}
