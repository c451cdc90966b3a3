import { chmod, rm } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import gossipGrpc from "@eventstore/db-client/generated/gossip_grpc_pb.js";
import featuresGrpc from "@eventstore/db-client/generated/serverfeatures_grpc_pb.js";
import streamsGrpc from "@eventstore/db-client/generated/streams_grpc_pb.js";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import pg from "pg";

import { pageMethod } from "../../platform/event-store/page-method.ts";
import { appendHandler, deleteHandler, tombstoneHandler } from "./append-service.ts";
import { BatchAppendService } from "./batch-append-service.ts";
import { getSupportedMethods, gossipHandler } from "./cluster-service.ts";
import { ReadService, readBytes } from "./read-service.ts";
import { Reader } from "./reader.ts";
import { Writer } from "./writer.ts";

export type EventStoreServerOptions = Readonly<{
  databaseUrl: string;
  /**
   * Path of a Unix socket in a directory for its owner alone. The server has no authentication: any process
   * that reaches it can append anything. Without a socket it listens on TCP, which is for tests.
   */
  socket?: string;
  /** Of TCP. Loopback unless given. */
  host?: string;
  /** Of TCP. A free one when 0 or left out. */
  port?: number;
  /** How long to wait for a server before us to let go of the database. */
  lockWaitMs?: number;
  /** Called when the database fails or cannot be reached; the server keeps retrying. */
  onOutage?: (error: unknown) => void;
}>;

export type EventStoreServer = Readonly<{
  /** Connection string for clients. */
  url: string;
  close: () => Promise<void>;
}>;

/** Clients send batches of 3 MiB and messages of up to 17 MiB. */
const receiveBytesMax = 20 * 1024 * 1024;

const shutdownMsMax = 5_000;

/**
 * Serves the streams part of the EventStoreDB protocol from the schema `event_store` of a
 * PostgreSQL database, which it makes and migrates itself. One server writes to a database at a
 * time.
 *
 * @throws when the database cannot be reached, the port is taken, or another server writes there.
 */
export async function startEventStoreServer(
  options: EventStoreServerOptions,
): Promise<EventStoreServer> {
  const { databaseUrl, socket, host = "127.0.0.1", onOutage = () => undefined } = options;
  const writer = new Writer({ databaseUrl, lockWaitMs: options.lockWaitMs ?? 10_000, onOutage });
  await writer.open();
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    application_name: "ledgerforge event store reader",
    connectionTimeoutMillis: 5_000,
    max: 8,
  });
  pool.on("error", onOutage);

  const server = new Server({ "grpc.max_receive_message_length": receiveBytesMax });
  const { heads, tail, topics } = writer;
  const reads = new ReadService({ reader: new Reader(pool, heads), tail, topics });
  const batchAppends = new BatchAppendService(writer);
  const { StreamsService } = streamsGrpc;
  const read = { ...StreamsService.read, responseSerialize: readBytes };
  server.addService(
    { ...StreamsService, read },
    {
      read: reads.handle,
      append: appendHandler(writer),
      batchAppend: batchAppends.handle,
      delete: deleteHandler(writer),
      tombstone: tombstoneHandler(writer),
    },
  );
  server.addService({ read: pageMethod }, { read: reads.handlePages });
  server.addService(featuresGrpc.ServerFeaturesService, { getSupportedMethods });
  let port = 0;
  const gossip = gossipHandler(() => ({ host, port }));
  server.addService(gossipGrpc.GossipService, { read: gossip });

  const close = async (): Promise<void> => {
    // Open calls end with a status that makes clients reconnect; a broken connection would not.
    reads.shutDown();
    batchAppends.shutDown();
    await writer.close();
    await Promise.race([
      new Promise((resolve) => server.tryShutdown(resolve)),
      sleep(shutdownMsMax, undefined, { ref: false }),
    ]);
    server.forceShutdown();
    await pool.end();
  };
  try {
    if (socket === undefined) port = await listen(server, `${host}:${options.port ?? 0}`);
    else await listenOnSocket(server, socket);
  } catch (error) {
    await close();
    throw error;
  }
  const url = socket === undefined ? `esdb://${host}:${port}?tls=false` : socketUrl(socket);
  return { url, close };
}

/** The lock on the database is held by now: a socket in this place was left by a server that ended. */
async function listenOnSocket(server: Server, socket: string): Promise<void> {
  await rm(socket, { force: true });
  await listen(server, `unix:${socket}`);
  await chmod(socket, 0o600);
}

const socketUrl = (socket: string): string =>
  `esdb+unix://${path.resolve(socket).split("/").map(encodeURIComponent).join("/")}`;

function listen(server: Server, address: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) resolve(bound);
      else reject(error);
    });
  });
}
