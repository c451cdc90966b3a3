import { randomUUID } from "node:crypto";
import sharedPb from "@eventstore/db-client/generated/shared_pb.js";
import streamsGrpc from "@eventstore/db-client/generated/streams_grpc_pb.js";
import streamsPb from "@eventstore/db-client/generated/streams_pb.js";
import { type CallOptions, credentials, Metadata } from "@grpc/grpc-js";

/** Address of the embedded server as gRPC takes it, from its connection string. */
export const streamsClient = (url: string) =>
  new streamsGrpc.StreamsClient(new URL(url).host, credentials.createInsecure());

export type Append = Readonly<{
  send: (events: number, bytes: number) => void;
  end: () => void;
  cancel: () => void;
  /** Null when it was answered, otherwise the error. */
  answered: Promise<Error | null>;
}>;

/** A plain append whose messages the caller sends one by one: the official client sends all. */
export function beginAppend(
  client: InstanceType<typeof streamsGrpc.StreamsClient>,
  stream: string,
  options: CallOptions = {},
): Append {
  let answer: (error: Error | null) => void = () => undefined;
  const answered = new Promise<Error | null>((resolve) => {
    answer = resolve;
  });
  const call = client.append(new Metadata(), options, (error) => answer(error));
  call.on("error", () => undefined);
  const name = new Uint8Array(Buffer.from(stream));
  call.write(
    new streamsPb.AppendReq().setOptions(
      new streamsPb.AppendReq.Options()
        .setStreamIdentifier(new sharedPb.StreamIdentifier().setStreamName(name))
        .setAny(new sharedPb.Empty()),
    ),
  );
  return {
    send(events, bytes) {
      for (let index = 0; index < events; index += 1) call.write(message(bytes));
    },
    end: () => call.end(),
    cancel: () => call.cancel(),
    answered,
  };
}

function message(bytes: number): streamsPb.AppendReq {
  const proposed = new streamsPb.AppendReq.ProposedMessage()
    .setId(new sharedPb.UUID().setString(randomUUID()))
    .setData(new Uint8Array(bytes));
  proposed.getMetadataMap().set("type", "Cut").set("content-type", "application/octet-stream");
  return new streamsPb.AppendReq().setProposedMessage(proposed);
}
