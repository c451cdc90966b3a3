import { randomUUID } from "node:crypto";
import featuresGrpc from "@eventstore/db-client/generated/serverfeatures_grpc_pb.js";
import sharedPb from "@eventstore/db-client/generated/shared_pb.js";
import streamsGrpc from "@eventstore/db-client/generated/streams_grpc_pb.js";
import type { ReadReq } from "@eventstore/db-client/generated/streams_pb.js";
import streamsPb from "@eventstore/db-client/generated/streams_pb.js";
import {
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerWritableStream,
} from "@grpc/grpc-js";

import { getSupportedMethods } from "../../../src/embedded/event-store/cluster-service.ts";
import type { Failure } from "../../../src/embedded/event-store/failure.ts";
import { statusOf } from "../../../src/embedded/event-store/status.ts";
import { pageMethod } from "../../../src/platform/event-store/page-method.ts";
import { eventually } from "../app/eventually.ts";
import { metadata } from "./test-event.ts";

type Answer = InstanceType<typeof streamsPb.ReadResp>;
type Call = ServerWritableStream<InstanceType<typeof ReadReq>, Answer>;
export type Reading = (call: Call) => void;
type Appends = ServerDuplexStream<
  InstanceType<typeof streamsPb.BatchAppendReq>,
  InstanceType<typeof streamsPb.BatchAppendResp>
>;
export type Appending = (call: Appends) => void;

/** Longer than a test. */
const drainMs = 600_000;

const isPages = (service: string): boolean =>
  pageMethod.path.toLowerCase().startsWith(`/${service}/`);

/** A server whose reads answer as a test says, in what released versions of EventStoreDB do. */
export async function startShim(version?: string): Promise<
  Readonly<{
    url: string;
    reads: Call[];
    read: (how: Reading) => void;
    append: (how: Appending) => void;
    port: number;
    /** Lets the calls of each connection end and takes no more of them there, as before a restart. */
    drain: () => void;
  }>
> {
  const reads: Call[] = [];
  let appending: Appending = (call) => void call.end();
  let answer: Reading = (call) => void call.end();
  const server = new Server();
  const features: typeof getSupportedMethods = (call, reply) =>
    getSupportedMethods(call, (error, methods) => {
      if (version !== undefined) methods?.setEventStoreServerVersion(version);
      // EventStoreDB gives no pages.
      const own = methods?.getMethodsList().filter((each) => !isPages(each.getServiceName()));
      methods?.setMethodsList(own ?? []);
      reply(error, methods);
    });
  server.addService(featuresGrpc.ServerFeaturesService, { getSupportedMethods: features });
  const read = (call: Call): void => {
    reads.push(call);
    answer(call);
  };
  const missing = (): never => {
    throw new Error("not served by the shim");
  };
  const batchAppend: Appending = (call) => appending(call);
  const names = ["append", "delete", "tombstone"];
  const others = Object.fromEntries(names.map((name) => [name, missing]));
  server.addService(streamsGrpc.StreamsService, { read, batchAppend, ...others } as never);
  let port = 0;
  server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (_error, bound) => {
    port = bound;
  });
  await eventually(() => port > 0);
  after(() => server.forceShutdown());
  const url = `esdb://127.0.0.1:${port}?tls=false`;
  return {
    url,
    port,
    drain: () => server.drain(`127.0.0.1:${port}`, drainMs),
    reads,
    read(how) {
      answer = how;
    },
    append(how) {
      appending = how;
    },
  };
}

/** That the events of an append were stored at a position. */
export const appended = (
  request: InstanceType<typeof streamsPb.BatchAppendReq>,
  position: bigint,
): InstanceType<typeof streamsPb.BatchAppendResp> => {
  const at = new sharedPb.AllStreamPosition()
    .setCommitPosition(String(position))
    .setPreparePosition(String(position));
  const success = new streamsPb.BatchAppendResp.Success().setCurrentRevision("0").setPosition(at);
  return new streamsPb.BatchAppendResp()
    .setCorrelationId(request.getCorrelationId())
    .setSuccess(success);
};

export const confirmed = (): Answer =>
  new streamsPb.ReadResp().setConfirmation(
    new streamsPb.ReadResp.SubscriptionConfirmation().setSubscriptionId("shim"),
  );

/** That the events were stored before, and are no longer where they were. */
export const appendedSomewhere = (
  request: InstanceType<typeof streamsPb.BatchAppendReq>,
): InstanceType<typeof streamsPb.BatchAppendResp> =>
  new streamsPb.BatchAppendResp()
    .setCorrelationId(request.getCorrelationId())
    .setSuccess(
      new streamsPb.BatchAppendResp.Success()
        .setCurrentRevision("0")
        .setNoPosition(new sharedPb.Empty()),
    );

/** That an append failed. */
export const refused = (
  request: InstanceType<typeof streamsPb.BatchAppendReq>,
  failure: Failure,
): InstanceType<typeof streamsPb.BatchAppendResp> =>
  new streamsPb.BatchAppendResp()
    .setCorrelationId(request.getCorrelationId())
    .setStreamIdentifier(request.getOptions()?.getStreamIdentifier())
    .setError(statusOf(failure));

/** An event whose data is `{}`, where an event is in $all. */
export const eventAt = (commit: bigint, prepare: bigint, type = "Shown"): Answer => {
  const recorded = new streamsPb.ReadResp.ReadEvent.RecordedEvent()
    .setId(new sharedPb.UUID().setString(randomUUID()))
    .setStreamIdentifier(new sharedPb.StreamIdentifier().setStreamName(Buffer.from("shim-1")))
    .setCommitPosition(String(commit))
    .setPreparePosition(String(prepare))
    .setData(Buffer.from("{}"))
    .setCustomMetadata(Buffer.from(JSON.stringify(metadata)));
  const properties = recorded.getMetadataMap();
  properties.set("type", type).set("content-type", "application/json").set("created", "0");
  return new streamsPb.ReadResp().setEvent(
    new streamsPb.ReadResp.ReadEvent().setEvent(recorded).setCommitPosition(String(commit)),
  );
};

export const checkpoint = (commit: bigint, prepare: bigint): Answer =>
  new streamsPb.ReadResp().setCheckpoint(
    new streamsPb.ReadResp.Checkpoint()
      .setCommitPosition(String(commit))
      .setPreparePosition(String(prepare)),
  );
