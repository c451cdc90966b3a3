/** One line of a benchmark: ours, what it is held against in the same run, and the ratio. */
export function figure(
  name: string,
  unit: string,
  ours: number,
  baseline: Readonly<{ name: string; value: number }>,
): void {
  const ratio = (ours / baseline.value).toFixed(2);
  const held = `${baseline.name} ${rounded(baseline.value)} ${unit}`;
  process.stdout.write(`${name.padEnd(34)} ${rounded(ours)} ${unit}   ${held}   ratio ${ratio}\n`);
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** @param part from 0 to 1: 0.99 for what 99 of 100 values are not above */
export function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

/** Milliseconds it takes. */
export async function timed(run: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await run();
  return performance.now() - start;
}

function rounded(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}
