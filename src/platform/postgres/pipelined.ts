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
 * waited for: it comes right before that of the first statement of the transaction. The connection pipelines, so it
 * answers in order, and one whose BEGIN fails is cut: no statement is answered outside of its transaction
 * (https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING).
 */
export function joinWrites(client: pg.Client): void {
  const send = client.query.bind(client) as (...sent: unknown[]) => unknown;
  const { connection } = client as unknown as Wire;
  let isJoining = false;
  const query = (...sent: unknown[]): unknown => {
    // Encryption may have put another socket into its place since.
    const { stream } = connection;
    if (!isJoining) {
      isJoining = true;
      stream.cork();
      process.nextTick(() => {
        isJoining = false;
        stream.uncork();
      });
    }
    const { text, callback } = partsOf(sent);
    if (text !== "BEGIN;" || callback === undefined) return send(...sent);
    const result = send(text, [], (error: Error | null) => {
      if (error !== null && error !== undefined) connection.stream.destroy(error);
    });
    callback(null, begun);
    return result;
  };
  Object.assign(client, { query });
}

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
