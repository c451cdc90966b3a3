import { AsyncLocalStorage } from "node:async_hooks";

type Work = {
  readonly caller: string;
  readonly signal: () => AbortSignal | undefined;
  isBegun: boolean;
};

const works = new AsyncLocalStorage<Work>();

/**
 * Runs something on behalf of a caller, and counts it to the caller's share of common resources.
 *
 * @param caller id of a user, or the network of an unauthenticated client
 * @param signal of the client: who waits for a limit leaves when it aborts. Unless given, that of the present work.
 */
export function asCaller<Result>(
  caller: string,
  run: () => Result,
  signal?: Work["signal"],
): Result {
  const outer = works.getStore();
  const inherited = () => (outer === undefined || outer.isBegun ? undefined : outer.signal());
  return works.run({ caller, signal: signal ?? inherited, isBegun: false }, run);
}

/** On whose behalf the present code runs; undefined for work of the service itself. */
export const currentCaller = (): string | undefined => works.getStore()?.caller;

/** Aborts when the client of the present work has gone, unless the work has begun to write. */
export function currentSignal(): AbortSignal | undefined {
  const work = works.getStore();
  return work === undefined || work.isBegun ? undefined : work.signal();
}

/** From now on the present work is done to its end, whether or not its client has gone. */
export function goOnWithoutClient(): void {
  const work = works.getStore();
  if (work !== undefined) work.isBegun = true;
}
