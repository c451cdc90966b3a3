import { setTimeout as sleep } from "node:timers/promises";
import gossipGrpc from "@eventstore/db-client/generated/gossip_grpc_pb.js";
import featuresGrpc from "@eventstore/db-client/generated/serverfeatures_grpc_pb.js";
import streamsGrpc from "@eventstore/db-client/generated/streams_grpc_pb.js";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import pg from "pg";

import { appendHandler, deleteHandler, tombstoneHandler } from "./append-service.ts";
import { BatchAppendService } from "./batch-append-service.ts";
import { getSupportedMethods, gossipHandler } from "./cluster-service.ts";
import { ReadService } from "./read-service.ts";
import { Reader } from "./reader.ts";
import { Writer } from "./writer.ts";

export type EventStoreServerOptions = Readonly<{
  databaseUrl: string;
  /** Loopback unless said otherwise: the server has no authentication. */
  host?: string;
  /** A free one when 0 or left out. */
  port?: number;
  /** How long to wait for a server before us to let go of the database. */
  lockWaitMs?: number;
  /** Told when the database fails or cannot be reached; the server goes on trying. */
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
  const { databaseUrl, host = "127.0.0.1", onOutage = () => undefined } = options;
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
  server.addService(streamsGrpc.StreamsService, {
    read: reads.handle,
    append: appendHandler(writer),
    batchAppend: batchAppends.handle,
    delete: deleteHandler(writer),
    tombstone: tombstoneHandler(writer),
  });
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
    port = await listen(server, host, options.port ?? 0);
  } catch (error) {
    await close();
    throw error;
  }
  return { url: `esdb://${host}:${port}?tls=false`, close };
}

function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(`${host}:${port}`, ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) resolve(bound);
      else reject(error);
    });
  });
}
