import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import knex, { type Knex } from "knex";
import pg from "pg";

import { prepareRepeated, StatementNames } from "./postgres/prepared.ts";
import type { Session } from "./postgres/run.ts";
import { TurnSocket } from "./postgres/turn-socket.ts";
import { timeoutSignal } from "./time/timeout-signal.ts";

/** Read models first, so that queries name their tables without a schema. */
const searchPathDefault = ["read_model", "public"];

export type PostgresOptions = Readonly<{
  poolMax?: number;
  /** Shown in pg_stat_activity. */
  applicationName?: string;
  /** Where unqualified names are looked up and made; read_model, public by default. */
  searchPath?: readonly string[];
  /** Runs on each new connection before its first use; what it throws is what the first use throws. */
  onConnect?: (session: Session) => Promise<void>;
}>;

const poolMaxDefault = 10;
const acquireTimeoutMs = 10_000;
const connectTimeoutMs = 5_000;

/** Opens nothing by itself: connections are made when first used. One a process, destroyed last. */
export function openPostgres(url: string, options: PostgresOptions = {}): Knex {
  const { onConnect = async () => undefined } = options;
  const names = new StatementNames();
  return knex({
    client: "pg",
    connection: pipelining(connectionConfig(url, options.applicationName)),
    searchPath: [...(options.searchPath ?? searchPathDefault)],
    pool: {
      min: 0,
      max: options.poolMax ?? poolMaxDefault,
      afterCreate: checked(onConnect, names),
    },
    acquireConnectionTimeout: acquireTimeoutMs,
    // Errors quote the statement with its placeholders: values may be personal, and errors are logged.
    compileSqlOnError: false,
    // A connection that cannot be made is an error of the query that needed it. Knex would print it too.
    log: { warn: () => undefined },
  });
}

type Done = (error: unknown, client: pg.Client) => void;

/** The pool forgets a connection whose check failed, without closing it. */
function checked(check: (session: Session) => Promise<void>, names: StatementNames) {
  return (client: pg.Client, done: Done): void => {
    const refuse = async (error: unknown): Promise<void> => {
      await client.end().catch(() => undefined);
      done(error, client);
    };
    prepareRepeated(client, names);
    check(client).then(() => done(undefined, client), refuse);
  };
}

/** A connection outside the pool, for what lives as long as its session: LISTEN, advisory locks. */
export async function connectPostgres(url: string, applicationName?: string): Promise<pg.Client> {
  const client = new pg.Client(connectionConfig(url, applicationName));
  // Without a listener a lost connection would end the process; the owner receives `end`.
  client.on("error", () => undefined);
  await client.connect();
  return client;
}

/** A session that listens sends a statement this often. */
export const listenPingMs = 15_000;
const reconnectMinMs = 50;
const reconnectMaxMs = 2_000;

type Listening = Readonly<{
  url: string;
  channel: string;
  /** Shown in pg_stat_activity; made of the channel unless given. */
  name?: string;
}>;

/**
 * Calls `onMessage` with the payload of each NOTIFY on the channel until the signal aborts. Resolves
 * once it listens for the first time (or is aborted before). A lost connection is opened again; what
 * was notified meanwhile is lost, so `onListening` is called after every connect for the caller to
 * read what it may have missed.
 */
export function listen(
  where: Listening,
  onMessage: (payload: string) => void,
  signal: AbortSignal,
  onListening: () => void = () => undefined,
): Promise<void> {
  return new Promise((resolve) => {
    const run = async (): Promise<void> => {
      let pauseMs = reconnectMinMs;
      while (!signal.aborted) {
        const listening = (): void => {
          pauseMs = reconnectMinMs;
          onListening();
          resolve();
        };
        await listenOnce(where, onMessage, signal, listening).catch(() => undefined);
        await delay(pauseMs, undefined, { signal }).catch(() => undefined);
        pauseMs = Math.min(pauseMs * 2, reconnectMaxMs);
      }
      resolve();
    };
    void run();
  });
}

/** One connection's life: ends when it is lost or the signal aborts. */
async function listenOnce(
  { url, channel, name = `listen ${channel}` }: Listening,
  onMessage: (payload: string) => void,
  signal: AbortSignal,
  onListening: () => void,
): Promise<void> {
  const client = await connectPostgres(url, name);
  const ended = new AbortController();
  client.once("end", () => ended.abort());
  client.on("notification", (message) => {
    if (message.channel === channel) onMessage(message.payload ?? "");
  });
  // A connection that was cut without a word is noticed only by talking.
  const ping = setInterval(() => {
    const answer = timeoutSignal(connectTimeoutMs);
    const end = (): void => void client.end().catch(() => undefined);
    answer.addEventListener("abort", end);
    client.query("select 1").then(() => answer.removeEventListener("abort", end), end);
  }, listenPingMs);
  try {
    await client.query(`listen ${client.escapeIdentifier(channel)}`);
    onListening();
    const until = AbortSignal.any([signal, ended.signal]);
    if (!until.aborted) await once(until, "abort");
  } finally {
    clearInterval(ping);
    await client.end().catch(() => undefined);
  }
}

function connectionConfig(url: string, applicationName = "ledgerforge") {
  return {
    connectionString: url,
    application_name: applicationName,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    types: { getTypeParser },
  };
}

/**
 * Statements of a connection are sent without a wait for the one before, and those of one turn together: options of pg
 * that Knex hands on and does not declare.
 */
const pipelining = <Config extends object>(config: Config): Config =>
  Object.assign(config, { pipeline: true, stream: () => new TurnSocket() });

/** int8 is a bigint: positions and counts outgrow what a double holds exactly. */
function getTypeParser(oid: number, format?: string): (text: string) => unknown {
  if (oid === pg.types.builtins.INT8 && format !== "binary") return BigInt;
  return pg.types.getTypeParser(oid, format === "binary" ? "binary" : "text");
}
