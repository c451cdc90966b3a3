import { EventEmitter } from "node:events";
import pg from "pg";

import { prepareRepeated, StatementNames } from "../postgres/prepared.ts";

/** Statements of queues are short; more connections than these would wait for the same rows. */
const connectionsMax = 6;
const connectTimeoutMs = 5_000;
/** How soon a listening connection that was cut without a word is probed. */
const keepAliveAfterMs = 10_000;

/** The part of a pg.Pool that BullMQ uses. */
export type QueueConnection = EventEmitter &
  Readonly<{
    options: Readonly<{ keepAlive: boolean }>;
    query: pg.Pool["query"];
    connect: () => Promise<QueueClient>;
    end: () => Promise<void>;
  }>;

/** The part of a client that BullMQ uses: it reads by it, and listens by it all its life. */
export type QueueClient = EventEmitter &
  Readonly<{
    query: (text: string, values?: unknown[]) => Promise<unknown>;
    release: () => void;
  }>;

export type QueuePool = Readonly<{
  /** One for each queue and each worker; what BullMQ does to it concerns no other. */
  connection: () => QueueConnection;
  close: () => Promise<void>;
}>;

/**
 * The connections of all queues of a process. BullMQ opens a pool for each queue and a connection that listens for
 * each worker unless it is given one. PostgreSQL wakes every connection that listens at each NOTIFY, and each session
 * compiles the functions of BullMQ for itself.
 */
export function openQueuePool(connectionString: string): QueuePool {
  const config = {
    connectionString,
    application_name: "queues",
    // Not waiting for the disk: a crash of Postgres may take back the last moments of the queue, all of
    // it in order. Then jobs are done again that were done, and what is behind the reactors'
    // checkpoints, which are written later, is still there.
    options: "-c synchronous_commit=off -c search_path=bullmq",
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
  };
  const pool = new pg.Pool({ ...config, max: connectionsMax });
  const names = new StatementNames();
  pool.on("connect", (client) => prepareRepeated(client, names));
  // An idle connection is lost; the next use opens another one.
  pool.on("error", () => undefined);
  const listener = new Listener({
    ...config,
    application_name: "queue listener",
    keepAliveInitialDelayMillis: keepAliveAfterMs,
  });
  const query = pool.query.bind(pool) as pg.Pool["query"];
  const connect = async () => queueClient(query, listener);
  return {
    connection: () =>
      Object.assign(new EventEmitter(), {
        options: { keepAlive: true },
        query,
        connect,
        end: async () => undefined,
      }),
    async close() {
      await listener.close();
      await pool.end();
    },
  };
}

/** Reads by the pool, so that its session is anyone's; only LISTEN goes to the connection that listens. */
function queueClient(query: pg.Pool["query"], listener: Listener): QueueClient {
  const client = new EventEmitter();
  return Object.assign(client, {
    async query(text: string, values?: unknown[]): Promise<unknown> {
      const channel = /^(?:\s|--.*\n)*listen (\w+)/i.exec(text)?.[1];
      if (channel !== undefined) return listener.listen(channel, client);
      // BullMQ names the session of a worker; here it is shared.
      if (text.includes("application_name")) return { rows: [] };
      return query(text, values);
    },
    release: () => listener.leave(client),
  });
}

/** One connection that listens for many; they get `notification` and, when it is lost, `error`. */
class Listener {
  readonly #config: pg.ClientConfig;
  readonly #clients = new Set<EventEmitter>();
  /** Of the connection that is open now. */
  readonly #channels = new Map<string, Promise<unknown>>();
  #connecting: Promise<pg.Client> | undefined;

  constructor(config: pg.ClientConfig) {
    this.#config = config;
  }

  async listen(channel: string, client: EventEmitter): Promise<void> {
    this.#clients.add(client);
    this.#connecting ??= this.#connect();
    const connection = await this.#connecting;
    const listening =
      this.#channels.get(channel) ??
      connection.query(`listen ${connection.escapeIdentifier(channel)}`);
    this.#channels.set(channel, listening);
    await listening;
  }

  leave(client: EventEmitter): void {
    this.#clients.delete(client);
  }

  async close(): Promise<void> {
    this.#clients.clear();
    const connection = await this.#connecting?.catch(() => undefined);
    connection?.removeAllListeners("end");
    await connection?.end();
  }

  async #connect(): Promise<pg.Client> {
    const connection = new pg.Client(this.#config);
    const lose = (error: Error): void => this.#lose(connection, error);
    connection.on("error", lose);
    connection.on("end", () => lose(new Error("The connection that listens for queues has ended")));
    connection.on("notification", (message) => {
      for (const client of [...this.#clients]) client.emit("notification", message);
    });
    try {
      await connection.connect();
    } catch (error) {
      this.#connecting = undefined;
      throw error;
    }
    return connection;
  }

  /** Each of them listens anew, and takes what it missed. */
  #lose(connection: pg.Client, error: Error): void {
    this.#connecting = undefined;
    this.#channels.clear();
    connection.removeAllListeners();
    // Without a listener what else fails of it would end the process.
    connection.on("error", () => undefined);
    void connection.end().catch(() => undefined);
    for (const client of [...this.#clients]) {
      this.#clients.delete(client);
      if (client.listenerCount("error") > 0) client.emit("error", error);
    }
  }
}
