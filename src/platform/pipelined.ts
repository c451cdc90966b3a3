import type pg from "pg";

type Callback = (error: Error | null, result?: unknown) => void;
type Sent = Readonly<{ text?: unknown; callback: Callback | undefined }>;

/** The part of the socket that joins what is written; pg does not declare where it is. */
type Wire = Readonly<{
  connection: Readonly<{ stream: Readonly<{ cork: () => void; uncork: () => void }> }>;
}>;

/** What BEGIN answers where nothing fails. */
const begun = { command: "BEGIN", rowCount: null, rows: [], fields: [] } as const;

/**
 * Sends the statements that one turn of the event loop brings to a connection by one write. The answer to BEGIN is not
 * waited for: it comes with that of the first statement of the transaction, which fails where BEGIN does. The
 * connection pipelines, so it answers in order
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
    // What fails here fails for the next statement as well, which is waited for.
    const result = send(text, [], () => undefined);
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
