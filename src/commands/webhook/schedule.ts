const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;

/** How long before each attempt, counted from the end of the one before it. */
const delaysMs = [
  0,
  5 * secondMs,
  30 * secondMs,
  2 * minuteMs,
  10 * minuteMs,
  hourMs,
  3 * hourMs,
  8 * hourMs,
] as const;

export const attemptsMax = delaysMs.length;

/** Part of the delay by which it is lengthened or shortened at most. */
const jitterMax = 0.1;

/** 410 Gone: the receiver says that it will never take this. */
const httpGone = 410;

/**
 * How long to wait after a failed attempt; undefined when it was the last one. What Retry-After requests
 * lengthens the wait, up to what would be waited one attempt later.
 */
export function delayToNextAttemptMs(
  failed: Readonly<{
    /** From 1. */
    attempt: number;
    status: number | null;
    retryAfterMs: number | null;
    /** From -1 to 1. */
    jitter: number;
  }>,
): number | undefined {
  const delayMs = delaysMs[failed.attempt];
  if (delayMs === undefined || failed.status === httpGone) return undefined;
  const ownMs = Math.round(delayMs * (1 + jitterMax * failed.jitter));
  const retryAfterMs = Math.min(failed.retryAfterMs ?? 0, delaysMs[failed.attempt + 1] ?? delayMs);
  return Math.max(ownMs, retryAfterMs);
}
