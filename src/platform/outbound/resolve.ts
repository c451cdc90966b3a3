import { lookup } from "node:dns";
import { LRUCache } from "lru-cache";

import { threadCount } from "../../config.ts";
import { type Hold, Limit } from "../limit.ts";
import { within } from "../time/within.ts";

export type Address = Readonly<{ address: string; family: number }>;

export type Resolve = (
  hostname: string,
  done: (error: Error | null, addresses: readonly Address[]) => void,
) => void;

/** As long as a machine takes to install packages one after another; a server that moved is found soon after. */
const keptMs = 5_000;
/** Other requests do not wait for a name that has just failed. */
const failureKeptMs = 10_000;
const namesMax = 1_000;
/** Of one request, waiting included. The system may hold the thread for longer. */
const resolveMsMax = 5_000;

type Addresses = readonly Address[];
type Answer = Readonly<{ until: number } & ({ addresses: Addresses } | { error: Error })>;

const lookupsMax = Math.max(1, Math.floor(threadCount() / 2));

/** The system resolves each name on a thread, of those that read files and hash passwords as well. */
const lookups = new Limit({
  name: "dns.lookups",
  total: lookupsMax,
  share: Math.ceil(lookupsMax / 4),
  whenFull: { refuseAfterMs: resolveMsMax },
  waitersMax: 2_000,
  waitersShare: 200,
  refusal: () => notResolved("Too many names wait to be resolved."),
});

type Options = Readonly<{ limit?: Limit; now?: () => number; resolveMs?: number }>;

/**
 * Resolves a name once for all who want it at a time. An answer is kept for 5 s, a failure for 10 s; one that takes longer
 * than 5 s is a failure. A caller holds a few threads at most, each for as
 * long as the system takes. What an address is good for is
 * decided for each connection.
 */
export function sharedResolve(resolve: Resolve, options: Options = {}): Resolve {
  const { limit = lookups, now = () => performance.now(), resolveMs = resolveMsMax } = options;
  const known = new LRUCache<string, Answer>({ max: namesMax });
  const running = new Map<string, Promise<Addresses>>();

  const recall = (hostname: string): Promise<Addresses> | undefined => {
    const answer = known.get(hostname);
    if (answer === undefined || answer.until <= now()) return running.get(hostname);
    return "error" in answer ? Promise.reject(answer.error) : Promise.resolve(answer.addresses);
  };

  const begin = (hostname: string, hold: Hold): Promise<Addresses> => {
    const fail = (error: Error): void =>
      void known.set(hostname, { error, until: now() + failureKeptMs });
    const late = setTimeout(
      () => fail(notResolved(`${hostname} was not resolved in time.`)),
      resolveMs,
    );
    const resolving = new Promise<Addresses>((found, failed) => {
      resolve(hostname, (error, addresses) => {
        clearTimeout(late);
        running.delete(hostname);
        hold.leave();
        if (error === null) known.set(hostname, { addresses, until: now() + keptMs });
        else fail(error);
        if (error === null) found(addresses);
        else failed(error);
      });
    });
    // Nobody may wait any more.
    resolving.catch(() => undefined);
    running.set(hostname, resolving);
    return resolving;
  };

  const find = async (hostname: string): Promise<Addresses> => {
    const hold = await limit.enter();
    // Another caller may have begun meanwhile.
    const other = recall(hostname);
    if (other === undefined) return begin(hostname, hold);
    hold.leave();
    return other;
  };

  return (hostname, done) => {
    const found = recall(hostname) ?? find(hostname);
    const late = () => notResolved(`${hostname} was not resolved in time.`);
    within(resolveMs, found, late).then(
      (addresses) => process.nextTick(done, null, addresses),
      (error: unknown) => process.nextTick(done, asError(error), []),
    );
  };
}

export const systemResolve: Resolve = sharedResolve((hostname, done) =>
  lookup(hostname, { all: true }, done),
);

/** With the code of a server of names that does not answer. */
function notResolved(message: string): Error {
  return Object.assign(new Error(message), { code: "EAI_AGAIN" });
}

const asError = (error: unknown): Error =>
  error instanceof Error ? error : new Error(String(error));
