import type { Socket } from "node:net";
import type pg from "pg";

type Callback = (error: Error | null, result?: unknown) => void;
type Sent = Readonly<{ text?: unknown; callback: Callback | undefined }>;

/** The socket, which joins what is written; pg does not declare where it is. */
type Wire = Readonly<{
  connection: Readonly<{ stream: Pick<Socket, "cork" | "uncork" | "destroy"> }>;
}>;

/** What BEGIN answers where nothing fails. */
const begun = { command: "BEGIN", rowCount: null, rows: [], fields: [] } as const;

/**
 * Sends the statements that one turn of the event loop brings to a connection by one write. The answer to BEGIN is not
 * waited for by who begins a transaction: statements that only read are sent behind it, and the first that may write
 * waits for it with all that follow. A connection whose BEGIN fails is cut, so that nothing is written outside of a
 * transaction. The connection pipelines, so it answers in order
 * (https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING).
 */
export function joinWrites(client: pg.Client): void {
  const send = client.query.bind(client) as (...sent: unknown[]) => unknown;
  const { connection } = client as unknown as Wire;
  const join = joining(connection);
  /** Behind a BEGIN that is not answered. */
  let held: (() => void)[] | undefined;
  const begin = (text: string): unknown => {
    held = [];
    return send(text, [], (error: Error | null) => {
      const waiting = held ?? [];
      held = undefined;
      if (error !== null && error !== undefined) connection.stream.destroy(error);
      join();
      for (const each of waiting) each();
    });
  };
  const query = (...sent: unknown[]): unknown => {
    join();
    const { text, callback } = partsOf(sent);
    if (held !== undefined && (held.length > 0 || !isReading(text))) {
      const waiting = held;
      if (callback !== undefined) return void waiting.push(() => send(...sent));
      return new Promise((resolve, reject) => {
        waiting.push(() => Promise.resolve(send(...sent)).then(resolve, reject));
      });
    }
    if (text !== "BEGIN;" || callback === undefined) return send(...sent);
    const result = begin(text);
    callback(null, begun);
    return result;
  };
  Object.assign(client, { query });
}

/** Has the socket send what is written until the end of this turn at once. */
function joining(connection: Wire["connection"]): () => void {
  let isJoining = false;
  return () => {
    if (isJoining) return;
    isJoining = true;
    // Encryption may have put another socket into its place since.
    const { stream } = connection;
    stream.cork();
    process.nextTick(() => {
      isJoining = false;
      stream.uncork();
    });
  };
}

const isReading = (text: unknown): boolean =>
  typeof text === "string" && /^\s*select\b/i.test(text);

function partsOf([first, second, third]: readonly unknown[]): Sent {
  const callback = [third, second].find((each) => typeof each === "function");
  const text = typeof first === "string" ? first : (first as Readonly<{ text?: unknown }>).text;
  return { text, callback: callback as Callback | undefined };
}

/**
 * Begins a statement, if it is one that waits for that; what it fails with is reported to who waits for it, later
 * perhaps. Statements that are begun in one transaction run in that order.
 */
export function begin<Result>(work: PromiseLike<Result>): Promise<Result> {
  const begun = new Promise<Result>((resolve, reject) => void work.then(resolve, reject));
  begun.catch(() => undefined);
  return begun;
}

/**
 * Begins all in their order and waits for all, so that none goes on in a transaction that is over.
 *
 * @throws what failed first: in a transaction others fail after it
 */
export async function allOf(work: readonly PromiseLike<unknown>[]): Promise<void> {
  const failures: unknown[] = [];
  const settled = work.map((each) => begin(each).catch((error: unknown) => failures.push(error)));
  await Promise.all(settled);
  if (failures.length > 0) throw failures[0];
}
