import type { EventStoreDBClient } from "@eventstore/db-client";
import sharedPb from "@eventstore/db-client/generated/shared_pb.js";
import streamsPb from "@eventstore/db-client/generated/streams_pb.js";
import {
  type CallOptions,
  type Client,
  type ClientReadableStream,
  type Metadata,
  makeGenericClientConstructor,
} from "@grpc/grpc-js";

import type { Recorded } from "../../events/core/event.ts";
import { storeError } from "./eventstoredb-error.ts";
import { eventsIn } from "./page-events.ts";
import { pageMethod } from "./page-method.ts";

type ReadReq = InstanceType<typeof streamsPb.ReadReq>;
type PageCall = ClientReadableStream<Buffer>;
type PageClient = Client &
  Readonly<{ read: (request: ReadReq, metadata: Metadata, options: CallOptions) => PageCall }>;

const PagesClient = makeGenericClientConstructor({ read: pageMethod }, "Pages");

/** What the official client keeps for itself: its connection, which it replaces after failures. */
type Internal = Readonly<{
  capabilities: Promise<Readonly<{ supports: (method: Readonly<{ path: string }>) => boolean }>>;
  callArguments: (base: object, options: CallOptions) => [Metadata, CallOptions];
  GRPCStreamCreator: (
    client: typeof PagesClient,
    name: string,
    open: (client: PageClient) => PageCall,
  ) => () => Promise<PageCall>;
}>;

const supporting = new WeakMap<EventStoreDBClient, boolean>();

/** Whether the server gives pages: the embedded one does. Checked once for each client. @throws StoreUnavailable */
export async function givesPages(client: EventStoreDBClient): Promise<boolean> {
  const known = supporting.get(client);
  if (known !== undefined) return known;
  try {
    const capabilities = await (client as unknown as Internal).capabilities;
    const supports = capabilities.supports(pageMethod);
    supporting.set(client, supports);
    return supports;
  } catch (error) {
    throw storeError(error);
  }
}

export type PageRequest = Readonly<{
  /** Of a stream; of the log when left out. */
  stream?: string;
  /** Revision or position, inclusive; from the beginning when left out, from the end backwards. */
  from?: bigint | undefined;
  isBackwards?: boolean;
  countMax?: number | undefined;
}>;

/** Pages of events as they come; none of a stream that does not exist. */
export async function* readPages(
  client: EventStoreDBClient,
  request: PageRequest,
): AsyncGenerator<readonly Recorded[]> {
  const internal = client as unknown as Internal;
  const message = messageOf(request);
  let isAtEnd = false;
  let call: PageCall | undefined;
  try {
    call = await internal.GRPCStreamCreator(PagesClient, "pages", (pages) =>
      pages.read(message, ...internal.callArguments({}, { deadline: Number.POSITIVE_INFINITY })),
    )();
    // The loop below receives errors; one after its end has no receiver and must not throw.
    call.on("error", () => undefined);
    const given: AsyncIterable<Buffer> = call.iterator({ destroyOnReturn: false });
    for await (const bytes of given) yield eventsIn(bytes);
    isAtEnd = true;
  } catch (error) {
    isAtEnd = true;
    throw storeError(error);
  } finally {
    if (!isAtEnd && call !== undefined) stop(call);
  }
}

/** Read to its end, which comes at once: a call that is destroyed stays with the client for ever. */
function stop(call: PageCall): void {
  call.cancel();
  call.resume();
}

function messageOf({ stream, from, isBackwards = false, countMax }: PageRequest): ReadReq {
  const { Options } = streamsPb.ReadReq;
  const options = new Options()
    .setReadDirection(isBackwards ? 1 : 0)
    .setResolveLinks(false)
    .setCount(String(countMax ?? Number.MAX_SAFE_INTEGER))
    .setUuidOption(new Options.UUIDOption().setString(new sharedPb.Empty()))
    .setNoFilter(new sharedPb.Empty());
  if (stream === undefined) options.setAll(placeInLog(from, isBackwards));
  else options.setStream(placeInStream(stream, from, isBackwards));
  return new streamsPb.ReadReq().setOptions(options);
}

function placeInLog(from: bigint | undefined, isBackwards: boolean) {
  const { AllOptions, Position } = streamsPb.ReadReq.Options;
  const all = new AllOptions();
  if (from !== undefined) {
    const position = new Position();
    return all.setPosition(position.setCommitPosition(`${from}`).setPreparePosition(`${from}`));
  }
  return isBackwards ? all.setEnd(new sharedPb.Empty()) : all.setStart(new sharedPb.Empty());
}

function placeInStream(name: string, from: bigint | undefined, isBackwards: boolean) {
  const { StreamOptions } = streamsPb.ReadReq.Options;
  const identifier = new sharedPb.StreamIdentifier().setStreamName(
    new Uint8Array(Buffer.from(name)),
  );
  const stream = new StreamOptions().setStreamIdentifier(identifier);
  if (from !== undefined) return stream.setRevision(`${from}`);
  return isBackwards ? stream.setEnd(new sharedPb.Empty()) : stream.setStart(new sharedPb.Empty());
}
