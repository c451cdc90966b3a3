/** Turns shorter than this are taken together. */
const lookEveryMs = 1;

/**
 * Processor milliseconds of the longest turn of the event loop while something runs. What other programs do
 * meanwhile counts for nothing, other threads of this process count.
 */
export async function longestTurnMs(run: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let ended = false;
  let before = process.cpuUsage();
  const watched = new Promise<void>((resolve) => {
    const look = (): void => {
      const { user, system } = process.cpuUsage(before);
      longest = Math.max(longest, (user + system) / 1_000);
      before = process.cpuUsage();
      if (ended) resolve();
      // Not at once: a loop that never rests takes a processor for as long as it looks.
      else setTimeout(look, lookEveryMs);
    };
    setTimeout(look, lookEveryMs);
  });
  try {
    await run();
  } finally {
    ended = true;
    await watched;
  }
  return longest;
}

/** How many turns the event loop makes while something runs. */
export async function turnsWhile<Result>(
  run: () => Promise<Result>,
): Promise<Readonly<{ turns: number; result: Result }>> {
  let turns = 0;
  let ended = false;
  const turn = (): void => {
    turns += 1;
    if (!ended) setImmediate(turn);
  };
  setImmediate(turn);
  const result = await run();
  ended = true;
  return { turns, result };
}

/** The least of a few attempts: collecting garbage and compiling come in some of them. */
export async function leastLongestTurnMs(run: () => Promise<unknown>): Promise<number> {
  const attempts: number[] = [];
  for (let attempt = 0; attempt < 5; attempt += 1) attempts.push(await longestTurnMs(run));
  return Math.min(...attempts);
}
