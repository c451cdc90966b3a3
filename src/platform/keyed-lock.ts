/** Runs what is given under the same key one after another, in the order it came. */
export type KeyedLock = (<Result>(key: string, run: () => Promise<Result>) => Promise<Result>) &
  Readonly<{
    /** Whether something runs or waits under the key. */
    isHeld: (key: string) => boolean;
  }>;

/** A lock within this process. Keys without waiting tasks take no memory. */
export function keyedLock(): KeyedLock {
  const tails = new Map<string, Promise<unknown>>();
  const inTurn = async <Result>(key: string, run: () => Promise<Result>): Promise<Result> => {
    const before = tails.get(key) ?? Promise.resolve();
    const result = before.then(run, run);
    // The next in line waits for the end, whatever it is.
    const tail = result.catch(() => undefined);
    tails.set(key, tail);
    try {
      return await result;
    } finally {
      if (tails.get(key) === tail) tails.delete(key);
    }
  };
  return Object.assign(inTurn, { isHeld: (key: string) => tails.has(key) });
}
