import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { ReadReq } from "@eventstore/db-client/generated/streams_pb.js";
import streamsPb from "@eventstore/db-client/generated/streams_pb.js";
import { type handleServerStreamingCall, type ServerWritableStream, status } from "@grpc/grpc-js";

import { streamIdentifier } from "./codec.ts";
import { tombstoneRevision } from "./event.ts";
import { eventBytes } from "./event-bytes.ts";
import { invalid, StoreFailure } from "./failure.ts";
import { type ReadRequest, readRequestOf } from "./read-request.ts";
import type { Page } from "./reader.ts";
import { serviceError, serviceErrorOf } from "./status.ts";
import {
  type Source,
  type SubscriptionMessage,
  subscribeToAll,
  subscribeToStream,
} from "./subscription.ts";

/** A message, or the bytes of one. */
type ReadResp = streamsPb.ReadResp | Buffer;
type Call<Response> = ServerWritableStream<ReadReq, Response>;
type Responses<Response> = (
  source: Source,
  request: ReadRequest,
  structuredIds: boolean,
  signal: AbortSignal,
) => AsyncIterable<Response>;

/** Of a message with several events: large enough to be few, and the memory of one is no matter. */
const pageBytesWanted = 256 * 1024;

export const readBytes = (response: ReadResp): Buffer =>
  Buffer.isBuffer(response) ? response : Buffer.from(response.serializeBinary());

/** Reads and subscriptions. */
export class ReadService {
  readonly #source: Source;
  readonly #open = new Set<AbortController>();
  #isClosing = false;

  constructor(source: Source) {
    this.#source = source;
  }

  readonly handle: handleServerStreamingCall<ReadReq, ReadResp> = (call) =>
    this.#answer(call, responses);

  readonly handlePages: handleServerStreamingCall<ReadReq, Buffer> = (call) =>
    this.#answer(call, pagesOfEvents);

  #answer<Response>(call: Call<Response>, responsesTo: Responses<Response>): void {
    const ending = new AbortController();
    let isGone = false;
    const gone = (): void => {
      isGone = true;
      ending.abort();
    };
    call.on("cancelled", gone);
    // Without this a connection that breaks while we write would be an uncaught error.
    call.on("error", gone);
    this.#open.add(ending);
    if (this.#isClosing) ending.abort();

    const done = (error?: unknown): void => {
      this.#open.delete(ending);
      if (isGone) return;
      if (error !== undefined) call.emit("error", serviceErrorOf(error));
      else if (ending.signal.aborted) call.emit("error", shuttingDown());
      else call.end();
    };
    answer(this.#source, call, responsesTo, ending.signal).then(() => done(), done);
  }

  /** Ends what is open: a subscription would never end by itself. */
  shutDown(): void {
    this.#isClosing = true;
    for (const ending of this.#open) ending.abort();
  }
}

/** CANCELLED makes a client drop its connection and make a new one; most other statuses do not. */
const shuttingDown = () => serviceError(status.CANCELLED, "The event store is shutting down", {});

async function answer<Response>(
  source: Source,
  call: Call<Response>,
  responsesTo: Responses<Response>,
  signal: AbortSignal,
): Promise<void> {
  const options = call.request.getOptions();
  if (options === undefined) throw invalid("A read needs its options");
  const structuredIds = options.getUuidOption()?.hasStructured() ?? false;
  const request = readRequestOf(options);
  for await (const response of responsesTo(source, request, structuredIds, signal)) {
    if (signal.aborted) return;
    // Waits while the client reads slower than we write.
    if (!call.write(response)) await once(call, "drain", { signal }).catch(() => undefined);
  }
}

async function* responses(
  source: Source,
  request: ReadRequest,
  structuredIds: boolean,
  signal: AbortSignal,
): AsyncGenerator<ReadResp> {
  switch (request.kind) {
    case "readAll":
      yield* events(readAll(source, request), request.countMax, structuredIds);
      return;
    case "readStream": {
      const pages = await readStream(source, request);
      if (pages === undefined) yield notFound(request.stream);
      else yield* events(pages, request.countMax, structuredIds);
      return;
    }
    case "subscribeToAll": {
      yield confirmation();
      const { after = source.tail.head, filter } = request;
      for await (const message of subscribeToAll(source, { after, filter, signal })) {
        yield responseTo(message, structuredIds);
      }
      return;
    }
    case "subscribeToStream":
      yield confirmation();
      for await (const message of subscribeToStream(source, { ...request, signal })) {
        yield responseTo(message, structuredIds);
      }
  }
}

async function* events(
  pages: AsyncIterable<Page>,
  countMax: bigint,
  structuredIds: boolean,
): AsyncGenerator<ReadResp> {
  let left = countMax;
  if (left === 0n) return;
  for await (const page of pages) {
    for (const event of page) {
      yield eventBytes(event, structuredIds);
      left -= 1n;
      if (left === 0n) return;
    }
  }
}

/** The messages of `pageMethod`; none for a stream that does not exist. */
async function* pagesOfEvents(source: Source, request: ReadRequest): AsyncGenerator<Buffer> {
  if (request.kind !== "readAll" && request.kind !== "readStream") {
    throw invalid("Subscriptions give no pages");
  }
  const pages =
    request.kind === "readAll" ? readAll(source, request) : await readStream(source, request);
  let parts: Buffer[] = [];
  let bytes = 0;
  let left = request.countMax;
  for await (const page of pages ?? []) {
    for (const event of page.slice(0, left < page.length ? Number(left) : undefined)) {
      const part = eventBytes(event, false);
      if (parts.length > 0 && bytes + part.length > pageBytesWanted) {
        yield Buffer.concat(parts, bytes);
        [parts, bytes] = [[], 0];
      }
      parts.push(part);
      bytes += part.length;
    }
    left -= BigInt(page.length);
    if (parts.length > 0) yield Buffer.concat(parts, bytes);
    [parts, bytes] = [[], 0];
    if (left <= 0n) return;
  }
}

async function* readAll(
  { reader }: Source,
  { from, isBackwards, countMax, filter }: Extract<ReadRequest, { kind: "readAll" }>,
): AsyncGenerator<Page> {
  const start = from ?? tombstoneRevision;
  // How many have to be read for those that a filter selects is not known.
  const wanted = filter === undefined ? countMax : undefined;
  const pages = isBackwards
    ? reader.allBackwards(start, wanted)
    : reader.allForwards(start, wanted);
  for await (const page of pages) yield filter === undefined ? page : filter.select(page);
}

/** Undefined when there is no such stream. */
async function readStream(
  { reader }: Source,
  { stream, from, isBackwards, countMax }: Extract<ReadRequest, { kind: "readStream" }>,
): Promise<AsyncIterable<Page> | undefined> {
  const view = await reader.viewOf(stream);
  if (view.kind === "tombstoned") throw new StoreFailure({ kind: "streamDeleted", stream });
  if (view.kind === "absent") return undefined;
  const { first: oldest, createdMin } = view;
  const start = from ?? tombstoneRevision;
  if (isBackwards) {
    return reader.streamBackwards(stream, { from: oldest, to: start, createdMin }, countMax);
  }
  const part = { from: start > oldest ? start : oldest, to: tombstoneRevision, createdMin };
  return reader.streamForwards(stream, part, countMax);
}

function confirmation(): ReadResp {
  const message = new streamsPb.ReadResp.SubscriptionConfirmation();
  return new streamsPb.ReadResp().setConfirmation(message.setSubscriptionId(randomUUID()));
}

function notFound(stream: string): ReadResp {
  const message = new streamsPb.ReadResp.StreamNotFound();
  message.setStreamIdentifier(streamIdentifier(stream));
  return new streamsPb.ReadResp().setStreamNotFound(message);
}

function responseTo(message: SubscriptionMessage, structuredIds: boolean): ReadResp {
  switch (message.kind) {
    case "event":
      return eventBytes(message.event, structuredIds);
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
