import { lstat } from "node:fs/promises";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import type { Repository } from "../../git/repository.ts";
import type { RequestedRef } from "./push-intent.ts";

/** A git that outlives the process which started it changes its refs within moments. */
const waitMaxMs = 5_000;
const lookMs = 50;

type Repeated = Readonly<{ push: Readonly<{ refs: readonly RequestedRef[] }>; atomic: boolean }>;

/**
 * Of the refs that git could not change, those that stand where the push wants them. So it is when a client
 * repeats a push whose connection broke: the first git went on without it and changed the refs after the second
 * one had read them. Git says "cannot lock ref" of them, but the push took effect.
 *
 * @param raced refs of a lost race; waits while another git holds the lock of one
 */
export async function takenBefore(
  repository: Repository,
  { push: { refs: requested }, atomic }: Repeated,
  raced: readonly string[],
): Promise<ReadonlySet<string>> {
  if (raced.length === 0) return new Set();
  const names = new Set(raced);
  const wanted = requested.filter(({ ref }) => names.has(ref));
  const until = performance.now() + waitMaxMs;
  for (;;) {
    // Looked for first: a lock that is gone by then has changed the ref, or never will.
    const isLocked = await anyLocked(repository.gitDir, raced);
    const now = await repository.refs(raced);
    const taken = wanted.filter(({ ref, after }) => (now.get(ref) ?? null) === after);
    const isOver = taken.length === wanted.length || !isLocked || performance.now() > until;
    // All or none: a part of them is none.
    if (isOver && atomic && taken.length < requested.length) return new Set();
    if (isOver) return new Set(taken.map(({ ref }) => ref));
    await delay(lookMs);
  }
}

async function anyLocked(gitDir: string, refs: readonly string[]): Promise<boolean> {
  const looks = refs.map((ref) => lstat(path.join(gitDir, `${ref}.lock`)).catch(() => undefined));
  return (await Promise.all(looks)).some((file) => file !== undefined);
}
