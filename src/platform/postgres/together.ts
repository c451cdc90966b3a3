import type { Knex } from "knex";
import pg from "pg";

import { sqlState } from "../postgres-error.ts";
import { featureNotSupported, type StatementNames, statementNamesOf } from "./prepared.ts";

/** A statement that a query builder of Knex makes: it is sent, its rows are not read. */
export type Statement = Readonly<{
  toSQL: () => { toNative: () => Readonly<{ sql: string; bindings: readonly unknown[] }> };
}>;

/**
 * Runs statements in one transaction that takes one round trip: all of them are sent before the first is answered
 * (https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING). After one that fails
 * PostgreSQL runs none of those behind it and takes back those before it.
 *
 * @throws what PostgreSQL says of the first that fails
 */
export async function runTogether(db: Knex, statements: readonly Statement[]): Promise<void> {
  const client: pg.Client = await db.client.acquireConnection();
  try {
    const names = statementNamesOf(client);
    const sent = statements.map((statement) => messagesOf(statement, names));
    await new Promise<void>((resolve, reject) => {
      const done = (error?: Error, text?: string): void => {
        if (sqlState(error) === featureNotSupported && text !== undefined) names?.leave(text);
        if (error === undefined) resolve();
        else reject(error);
      };
      client.query(new Together(sent, done));
    });
  } finally {
    await db.client.releaseConnection(client);
  }
}

/** The messages that pg has a connection send for a statement. */
type Message = Readonly<{ text?: string; name?: string; statement?: string; values?: unknown[] }>;

/** The part of pg's connection that sends messages. */
type Wire = {
  stream: { cork: () => void; uncork: () => void };
  parsedStatements: Record<string, string>;
  submittedNamedStatements: Record<string, string>;
  parse: (message: Message) => void;
  bind: (message: Message) => void;
  execute: (message: Message) => void;
  sync: () => void;
};

type Sent = Readonly<{ name: string | undefined; text: string; bind: Message; execute: Message }>;

/** Has pg write the values as it does for a query of its own, which may throw, before anything is sent. */
function messagesOf(statement: Statement, names: StatementNames | undefined): Sent {
  const { sql: text, bindings } = statement.toSQL().toNative();
  const name = names?.of(text);
  let [bind, execute]: Message[] = [];
  type Mapped = Message & Readonly<{ valueMapper: (value: unknown) => unknown }>;
  const recorder = {
    stream: {},
    parsedStatements: {},
    submittedNamedStatements: {},
    parse: () => undefined,
    bind: ({ valueMapper, values = [], ...message }: Mapped) => {
      bind = { ...message, values: values.map((value) => valueMapper(value)) };
    },
    describe: () => undefined,
    execute: (message: Message) => {
      execute = message;
    },
    sync: () => undefined,
    close: () => undefined,
  };
  let failure: Error | undefined;
  const config = { ...(name !== undefined && { name }), text, values: [...bindings] };
  const extended = { ...config, queryMode: "extended" };
  const query = new pg.Query(extended, (error) => {
    failure = error;
  });
  query.submit(recorder as unknown as pg.Connection);
  if (failure !== undefined) throw failure;
  if (bind === undefined || execute === undefined) throw new Error("pg binds and executes a query");
  return { name, text, bind, execute };
}

/** Called once, with what failed and the text of that statement. */
type Done = (error?: Error, text?: string) => void;

/**
 * To pg one query, of which it knows the statement that is answered now. Answered by one ReadyForQuery, as a `pg.Query`
 * is, so it may stand between others on a connection that pipelines.
 */
class Together extends pg.Query {
  readonly #statements: readonly Sent[];
  readonly #done: Done;
  #answered = 0;
  /** Read by pg when a statement was parsed or has failed. */
  name: string | undefined;
  text: string | undefined;
  /** Ends what pg began for a limit of time (`query_timeout`). */
  declare callback: (() => void) | undefined;

  constructor(statements: readonly Sent[], done: Done) {
    super("");
    this.#statements = statements;
    this.#done = done;
    this.#nowAnswered(0);
  }

  override submit = (connection: pg.Connection): void => {
    const wire = connection as unknown as Wire;
    wire.stream.cork();
    try {
      for (const { name, text, bind, execute } of this.#statements) {
        if (name === undefined || !isParsed(wire, name)) {
          wire.parse({ text, name: name ?? "" });
          if (name !== undefined) wire.submittedNamedStatements[name] = text;
        }
        wire.bind(bind);
        wire.execute(execute);
      }
      wire.sync();
    } finally {
      wire.stream.uncork();
    }
  };

  handleRowDescription(): void {}

  handleDataRow(): void {}

  handleCommandComplete(): void {
    this.#nowAnswered(this.#answered + 1);
  }

  handleEmptyQuery(): void {
    this.#nowAnswered(this.#answered + 1);
  }

  handleError(error: Error, connection: pg.Connection): void {
    const { submittedNamedStatements } = connection as unknown as Wire;
    // What was to be prepared behind the failure was not.
    for (const { name } of this.#statements) delete submittedNamedStatements[name ?? ""];
    this.callback?.();
    this.#done(error, this.text);
  }

  handleReadyForQuery(): void {
    this.callback?.();
    this.#done();
  }

  #nowAnswered(index: number): void {
    this.#answered = index;
    this.name = this.#statements[index]?.name;
    this.text = this.#statements[index]?.text;
  }
}

const isParsed = (wire: Wire, name: string): boolean =>
  wire.parsedStatements[name] !== undefined || wire.submittedNamedStatements[name] !== undefined;
