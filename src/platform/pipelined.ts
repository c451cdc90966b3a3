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
