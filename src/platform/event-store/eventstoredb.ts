import { within } from "../time/within.ts";
import { appenderOf } from "./append.ts";
import { openConnection } from "./connection.ts";
import { type EventStore, StoreUnavailable } from "./event-store.ts";
import { subscribeAll } from "./eventstoredb-subscription.ts";
import { flat } from "./flat.ts";
import { LogHead } from "./log-head.ts";
import { givesPages } from "./page-reader.ts";
import { newestOf, readAll, readStream, requestLeader } from "./read.ts";
import { StoreClock } from "./store-clock.ts";

type EventStoreOptions = Readonly<{
  /** For tests: whether to read in pages where the server gives them. */
  pages?: boolean;
  /** Called about once a minute with how far the clock of the store is ahead of that of this machine. */
  onClock?: (aheadMs: number) => void;
}>;

/**
 * The port over the official client, against EventStoreDB or the embedded server. Open one in a
 * process: a failure of one client's appends rejects those of every other client there.
 *
 * @param url esdb:// connection string, or esdb+unix:// and the path of a socket
 */
export function openEventStore(
  url: string,
  { pages = true, onClock }: EventStoreOptions = {},
): EventStore {
  const connection = openConnection(url);
  const { using, giving, calls } = connection;
  const head = new LogHead();
  const clock = new StoreClock(onClock);
  const append = appenderOf(connection, clock);
  const inPages = async (client: Parameters<typeof givesPages>[0]): Promise<boolean> =>
    pages && (await givesPages(client));
  const streamed = (request: Parameters<typeof readStream>[2]) =>
    flat(
      giving(async function* (client) {
        yield* readStream(client, await inPages(client), request);
      }),
    );
  return {
    append: (stream, expected, events) => append({ stream, expected, events }),
    readStream: (stream, fromRevision = 0n, countMax = undefined) =>
      streamed({ stream, from: fromRevision, countMax }),
    readStreamBackwards: (stream, countMax) => streamed({ stream, isBackwards: true, countMax }),
    readAll: (options = {}) =>
      flat(
        giving(async function* (client) {
          yield* readAll(client, await inPages(client), options);
        }),
      ),
    head: () => calls.run(() => using((client) => head.find(client))),
    end: () => calls.run(() => using(async (client) => (await newestOf(client))?.position)),
    subscribeAll: (options) => subscribeAll(connection, options),
    clockAheadMs: () => clock.aheadMs,
    async ping(timeoutMs) {
      const late = new AbortController();
      const silent = () => new StoreUnavailable("The event store does not answer");
      const requested = using((client) => requestLeader(client, late.signal));
      try {
        await within(timeoutMs, requested, silent);
      } finally {
        late.abort();
        requested.catch(() => undefined);
      }
    },
    close: connection.close,
  };
}
