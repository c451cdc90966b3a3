import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { ReadReq } from "@eventstore/db-client/generated/streams_pb.js";
import streamsPb from "@eventstore/db-client/generated/streams_pb.js";
import { type handleServerStreamingCall, type ServerWritableStream, status } from "@grpc/grpc-js";

import { clamp, readResponse, streamIdentifier, streamNameOf } from "./codec.ts";
import { type StoredEvent, tombstoneRevision } from "./event.ts";
import { invalid, StoreFailure } from "./failure.ts";
import { createFilter, type Filter } from "./filter.ts";
import type { Page, StreamView } from "./reader.ts";
import { serviceError, serviceErrorOf } from "./status.ts";
import {
  type Source,
  type SubscriptionMessage,
  subscribeToAll,
  subscribeToStream,
} from "./subscription.ts";

type ReadResp = streamsPb.ReadResp;
type Call = ServerWritableStream<ReadReq, ReadResp>;

const searchWindowDefault = 32;

/** Reads and subscriptions. `closing` ends those still open when the server stops. */
export function readHandler(
  source: Source,
  closing: AbortSignal,
): handleServerStreamingCall<ReadReq, ReadResp> {
  return (call) => {
    const cancelled = new AbortController();
    call.on("cancelled", () => cancelled.abort());
    // Without this a connection that breaks while we write would be an uncaught error.
    call.on("error", () => cancelled.abort());
    const signal = AbortSignal.any([cancelled.signal, closing]);
    answer(source, call, signal).then(
      () => {
        if (cancelled.signal.aborted) return;
        if (closing.aborted) call.emit("error", shutdown());
        else call.end();
      },
      (error: unknown) => {
        if (!cancelled.signal.aborted) call.emit("error", serviceErrorOf(error));
      },
    );
  };
}

/** CANCELLED makes a client drop its connection and make a new one; other statuses do not. */
function shutdown() {
  return serviceError(status.CANCELLED, "The event store is shutting down", {});
}

async function answer(source: Source, call: Call, signal: AbortSignal): Promise<void> {
  const options = call.request.getOptions();
  if (options === undefined) throw invalid("A read needs its options");
  const structuredIds = options.getUuidOption()?.hasStructured() ?? false;
  const isBackwards =
    options.getReadDirection() === streamsPb.ReadReq.Options.ReadDirection.BACKWARDS;

  if (options.hasSubscription()) {
    if (isBackwards) throw invalid("A subscription goes forwards");
    const confirmation = new streamsPb.ReadResp.SubscriptionConfirmation();
    confirmation.setSubscriptionId(randomUUID());
    await send(call, new streamsPb.ReadResp().setConfirmation(confirmation), signal);
    for await (const message of subscription(source, options, signal)) {
      await send(call, subscriptionResponse(message, structuredIds), signal);
      if (signal.aborted) return;
    }
    return;
  }

  const countMax = BigInt(options.getCount());
  const pages = options.hasAll()
    ? readAll(source, options, isBackwards)
    : await readStream(source, options, isBackwards);
  if (pages === undefined) return send(call, notFound(options), signal);
  for await (const event of first(countMax, pages)) {
    await send(call, readResponse(event, structuredIds), signal);
    if (signal.aborted) return;
  }
}

/** Waits while the client reads slower than we write. */
async function send(call: Call, response: ReadResp, signal: AbortSignal): Promise<void> {
  if (signal.aborted || call.write(response)) return;
  await once(call, "drain", { signal }).catch(() => undefined);
}

async function* first(countMax: bigint, pages: AsyncIterable<Page>): AsyncGenerator<StoredEvent> {
  let left = countMax;
  if (left === 0n) return;
  for await (const page of pages) {
    for (const event of page) {
      yield event;
      left -= 1n;
      if (left === 0n) return;
    }
  }
}

function readAll(
  { reader }: Source,
  options: ReadReq.Options,
  isBackwards: boolean,
): AsyncIterable<Page> {
  const filter = filterOf(options);
  const from = allPosition(options);
  // Forwards begins at the position, backwards before it.
  const pages = isBackwards
    ? reader.allBackwards(from ?? tombstoneRevision)
    : reader.allForwards(from ?? tombstoneRevision);
  return filter === undefined ? pages : filtered(pages, filter);
}

async function* filtered(pages: AsyncIterable<Page>, filter: Filter): AsyncGenerator<Page> {
  for await (const page of pages) yield filter.select(page);
}

/** Undefined when there is no such stream. */
async function readStream(
  { reader }: Source,
  options: ReadReq.Options,
  isBackwards: boolean,
): Promise<AsyncIterable<Page> | undefined> {
  const stream = streamNameOf(options.getStream()?.getStreamIdentifier());
  const view: StreamView = await reader.viewOf(stream);
  if (view.kind === "tombstoned") throw new StoreFailure({ kind: "streamDeleted", stream });
  if (view.kind === "absent") return undefined;
  const { first: oldest, createdMin } = view;
  const wanted = streamRevision(options) ?? tombstoneRevision;
  if (isBackwards) return reader.streamBackwards(stream, { from: oldest, to: wanted, createdMin });
  const from = wanted > oldest ? wanted : oldest;
  return reader.streamForwards(stream, { from, to: tombstoneRevision, createdMin });
}

function subscription(
  source: Source,
  options: ReadReq.Options,
  signal: AbortSignal,
): AsyncIterable<SubscriptionMessage> {
  if (options.hasAll()) {
    const after = allPosition(options) ?? source.tail.head;
    return subscribeToAll(source, { after, filter: filterOf(options), signal });
  }
  const stream = streamNameOf(options.getStream()?.getStreamIdentifier());
  const after = streamRevision(options);
  const isFromStart = options.getStream()?.hasStart() ?? false;
  // The revision given is one the client has seen; the start is not.
  const from = isFromStart ? 0n : after === undefined ? undefined : after + 1n;
  return subscribeToStream(source, { stream, from, signal });
}

/** 0 for the start, undefined for the end. */
function allPosition(options: ReadReq.Options): bigint | undefined {
  const all = options.getAll();
  if (all?.hasPosition()) return clamp(all.getPosition()?.getCommitPosition() ?? "0");
  return all?.hasEnd() ? undefined : 0n;
}

/** 0 for the start, undefined for the end. */
function streamRevision(options: ReadReq.Options): bigint | undefined {
  const stream = options.getStream();
  if (stream?.hasRevision()) return clamp(stream.getRevision());
  return stream?.hasEnd() ? undefined : 0n;
}

function filterOf(options: ReadReq.Options): Filter | undefined {
  const filter = options.getFilter();
  if (filter === undefined) return undefined;
  const expression = filter.getStreamIdentifier() ?? filter.getEventType();
  const window = filter.hasMax() ? filter.getMax() : searchWindowDefault;
  return createFilter({
    on: filter.hasStreamIdentifier() ? "stream" : "type",
    regex: expression?.getRegex() ?? "",
    prefixes: expression?.getPrefixList() ?? [],
    checkpointInterval: Math.max(1, window * filter.getCheckpointintervalmultiplier()),
  });
}

function notFound(options: ReadReq.Options): ReadResp {
  const stream = streamNameOf(options.getStream()?.getStreamIdentifier());
  const message = new streamsPb.ReadResp.StreamNotFound();
  return new streamsPb.ReadResp().setStreamNotFound(
    message.setStreamIdentifier(streamIdentifier(stream)),
  );
}

function subscriptionResponse(message: SubscriptionMessage, structuredIds: boolean): ReadResp {
  switch (message.kind) {
    case "event":
      return readResponse(message.event, structuredIds);
    case "checkpoint": {
      const position = message.position.toString();
      const checkpoint = new streamsPb.ReadResp.Checkpoint();
      checkpoint.setCommitPosition(position).setPreparePosition(position);
      return new streamsPb.ReadResp().setCheckpoint(checkpoint);
    }
    case "caughtUp":
      return new streamsPb.ReadResp().setCaughtUp(new streamsPb.ReadResp.CaughtUp());
    case "fellBehind":
      return new streamsPb.ReadResp().setFellBehind(new streamsPb.ReadResp.FellBehind());
  }
}
