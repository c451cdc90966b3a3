import streamsPb from "@eventstore/db-client/generated/streams_pb.js";
import type { MethodDefinition } from "@grpc/grpc-js";

type ReadReq = InstanceType<typeof streamsPb.ReadReq>;

/**
 * A call of the embedded event store alone: a read of the protocol, answered by fewer and larger messages. A message
 * is what `Read` would have given for its events, one behind the other: of the protocol's own encoding, with
 * `ReadEvent` repeated. Clients find it in the list of supported methods.
 */
export const pageMethod: MethodDefinition<ReadReq, Buffer> = {
  path: "/ledgerforge.event_store.Pages/Read",
  requestStream: false,
  responseStream: true,
  requestSerialize: (request) => Buffer.from(request.serializeBinary()),
  requestDeserialize: (bytes) => streamsPb.ReadReq.deserializeBinary(bytes),
  responseSerialize: (bytes) => bytes,
  responseDeserialize: (bytes) => bytes,
};
