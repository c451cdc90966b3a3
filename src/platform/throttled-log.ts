const quietMs = 30_000;

/**
 * Reports the first call and then at most one in 30 s, with the number of those left out: an outage is
 * reported, but does not fill the log.
 */
export function throttledLog<Value>(
  report: (value: Value, suppressed: number) => void,
  now: () => number = Date.now,
): (value: Value) => void {
  let quietUntil = Number.NEGATIVE_INFINITY;
  let suppressed = 0;
  return (value) => {
    if (now() < quietUntil) {
      suppressed += 1;
      return;
    }
    report(value, suppressed);
    quietUntil = now() + quietMs;
    suppressed = 0;
  };
}
