import { lookup } from "node:dns";
import { LRUCache } from "lru-cache";

export type Address = Readonly<{ address: string; family: number }>;

export type Resolve = (
  hostname: string,
  done: (error: Error | null, addresses: readonly Address[]) => void,
) => void;

/** As long as a machine takes to install packages one after another; a server that moved is found soon after. */
const keptMs = 5_000;
const namesMax = 1_000;

type Answer = Readonly<{ addresses: readonly Address[]; at: number }>;

/**
 * Resolves a name once for all who want it at a time, and keeps an answer for 5 s, a failure not at all: the system
 * resolves four names at a time, on threads that read files as well. What an address is good for is decided for each
 * connection.
 */
export function sharedResolve(
  resolve: Resolve,
  now: () => number = () => performance.now(),
): Resolve {
  const known = new LRUCache<string, Answer>({ max: namesMax });
  const waiting = new Map<string, Parameters<Resolve>[1][]>();
  return (hostname, done) => {
    const answer = known.get(hostname);
    if (answer !== undefined && now() - answer.at < keptMs) {
      return process.nextTick(done, null, answer.addresses);
    }
    const others = waiting.get(hostname);
    if (others !== undefined) return void others.push(done);
    const all = [done];
    waiting.set(hostname, all);
    resolve(hostname, (error, addresses) => {
      waiting.delete(hostname);
      if (error === null) known.set(hostname, { addresses, at: now() });
      else known.delete(hostname);
      for (const each of all) each(error, addresses);
    });
  };
}

export const systemResolve: Resolve = sharedResolve((hostname, done) =>
  lookup(hostname, { all: true }, done),
);
