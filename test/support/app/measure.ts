/** The least of some measurements: others on the machine can only add to one. */
export async function leastOf(turns: number, measure: () => Promise<number>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let turn = 0; turn < turns; turn += 1) least = Math.min(least, await measure());
  return least;
}

/** Processor time of this process during the work; waiting for others counts for nothing. */
export async function processorMs(work: () => unknown): Promise<number> {
  const start = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1_000;
}

/**
 * Measures again, a few times, while the outcome is out of bounds: on a busy machine any single
 * measurement may be, but what is always out of bounds stays so. @returns the last outcome
 */
export async function settled(
  measure: () => Promise<number>,
  [least, most]: readonly [number, number],
): Promise<number> {
  let outcome = await measure();
  for (let turn = 1; turn < 6 && (outcome < least || outcome > most); turn += 1) {
    outcome = await measure();
  }
  return outcome;
}

/**
 * Both in turn, so that other work of the machine slows both. @returns how much longer the first took
 *
 * @param rounds odd; a few are enough where what is looked for makes one of them take many times as long
 */
export async function ratio(
  known: () => Promise<unknown>,
  unknown: () => Promise<unknown>,
  rounds = 7,
): Promise<number> {
  const took = async (act: () => Promise<unknown>) => {
    const start = performance.now();
    await act();
    return performance.now() - start;
  };
  const [one, other]: [number[], number[]] = [[], []];
  for (let n = 0; n < rounds; n += 1) {
    one.push(await took(known));
    other.push(await took(unknown));
  }
  return median(one) / median(other);
}

const median = (times: number[]) => times.sort((a, b) => a - b)[(times.length - 1) / 2] ?? 0;

/** Runs what holds within a time only; when it fails, again, if that time was over. */
export async function within(lifeMs: number, run: () => Promise<void>): Promise<void> {
  for (let turn = 1; ; turn += 1) {
    const start = performance.now();
    try {
      return await run();
    } catch (error) {
      if (turn === 10 || performance.now() - start < lifeMs) throw error;
    }
  }
}
