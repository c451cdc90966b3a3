import { LRUCache } from "lru-cache";
import type pg from "pg";

import { sqlState } from "../postgres-error.ts";

/** Statements that come once or twice are not worth the memory that a prepared one takes on each connection. */
const seenMin = 5;
/** Longer ones are sets of rows, each with a text of its own. */
const textMax = 8_192;
/** So many are prepared at most by each connection of a pool; each takes some 20 KiB there. */
const namesMax = 400;
/** Texts that are counted before they have a name. */
const countedMax = 5_000;

/** SQLSTATE of a prepared statement whose columns are others since a table was replaced. */
const featureNotSupported = "0A000";

/** The transaction has to be repeated: the code is the SQLSTATE of a serialization failure. */
class OutdatedStatement extends Error {
  override readonly name = "OutdatedStatement";
  readonly code = "40001";

  constructor(cause: unknown) {
    super("The columns of a prepared statement have changed", { cause });
  }
}

/** Names for the statements that the connections of one pool prepare. */
export class StatementNames {
  readonly #names = new Map<string, string>();
  readonly #counts = new LRUCache<string, number>({ max: countedMax });
  /** Their columns changed while this process ran. */
  readonly #unprepared = new Set<string>();

  /**
   * The name under which this statement is to be prepared, or undefined for one that is not: it changes tables, is
   * long, or has not come often enough.
   */
  of(text: string): string | undefined {
    if (this.#unprepared.has(text)) return undefined;
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    const isFull = this.#names.size >= namesMax;
    if (isFull || text.length > textMax || !isPreparable(text)) return undefined;
    const count = (this.#counts.get(text) ?? 0) + 1;
    if (count < seenMin) {
      this.#counts.set(text, count);
      return undefined;
    }
    this.#counts.delete(text);
    const name = `s${this.#names.size}`;
    this.#names.set(text, name);
    return name;
  }

  /** Prepares it no more. */
  leave(text: string): void {
    this.#unprepared.add(text);
  }
}

const isPreparable = (text: string): boolean =>
  /^(?:\s|--.*\n)*(?:select|insert|update|delete|with)\b/i.test(text);

type Callback = (error: Error | null, result?: unknown) => void;
type Statement = Readonly<{ text: string; values: readonly unknown[]; done: Callback }>;

/**
 * Has a connection prepare the statements that come again, so that PostgreSQL does not parse and plan them
 * each time (https://www.postgresql.org/docs/current/sql-prepare.html). One whose columns are others since it was
 * prepared is sent as it is; within a transaction it fails once, and the transaction has to be repeated. A pooler in
 * front of PostgreSQL has to keep a session for each connection.
 */
export function prepareRepeated(client: pg.Client, names: StatementNames): void {
  const send = client.query.bind(client) as (...sent: unknown[]) => unknown;
  const query = (...sent: unknown[]): unknown => {
    const statement = statementOf(sent);
    const name = statement && names.of(statement.text);
    if (statement === undefined || name === undefined) return send(...sent);
    const { text, values, done } = statement;
    return send({ name, text, values }, (error: Error | null, result?: unknown) => {
      if (error === null || sqlState(error) !== featureNotSupported) {
        done(error, result);
        return;
      }
      names.leave(text);
      if (client.getTransactionStatus() === "I") send(...sent);
      else done(new OutdatedStatement(error));
    });
  };
  Object.assign(client, { query });
}

/** What pools send: a text or an object with it, its values, and a callback. */
function statementOf([first, second, third]: readonly unknown[]): Statement | undefined {
  const isText = typeof first === "string";
  const { text, values, name, submit } = (
    isText ? { text: first, values: second } : first
  ) as Record<string, unknown>;
  const done = isText ? third : second;
  if (name !== undefined || submit !== undefined || typeof done !== "function") return undefined;
  if (typeof text !== "string" || !Array.isArray(values)) return undefined;
  return { text, values, done: done as Callback };
}
