import type { ReadReq } from "@eventstore/db-client/generated/streams_pb.js";
import streamsPb from "@eventstore/db-client/generated/streams_pb.js";

import { clamp, streamNameOf } from "./codec.ts";
import { invalid } from "./failure.ts";
import { createFilter, type Filter } from "./filter.ts";

/** A request to read. An undefined position is the end of the log or stream. */
export type ReadRequest =
  | Readonly<{
      kind: "readAll";
      /** Forwards begins at the position, backwards before it. */
      from: bigint | undefined;
      isBackwards: boolean;
      countMax: bigint;
      filter: Filter | undefined;
    }>
  | Readonly<{
      kind: "readStream";
      stream: string;
      /** Inclusive, whichever way. */
      from: bigint | undefined;
      isBackwards: boolean;
      countMax: bigint;
    }>
  | Readonly<{ kind: "subscribeToAll"; after: bigint | undefined; filter: Filter | undefined }>
  | Readonly<{ kind: "subscribeToStream"; stream: string; from: bigint | undefined }>;

const searchWindowDefault = 32;

/** @throws StoreFailure */
export function readRequestOf(options: ReadReq.Options): ReadRequest {
  const { BACKWARDS } = streamsPb.ReadReq.Options.ReadDirection;
  const isBackwards = options.getReadDirection() === BACKWARDS;
  const isSubscription = options.hasSubscription();
  if (isSubscription && isBackwards) throw invalid("A subscription goes forwards");

  if (options.hasAll()) {
    const from = positionOf(options);
    const filter = filterOf(options);
    if (isSubscription) return { kind: "subscribeToAll", after: from, filter };
    return { kind: "readAll", from, isBackwards, countMax: countOf(options), filter };
  }

  const stream = streamNameOf(options.getStream()?.getStreamIdentifier());
  const from = revisionOf(options);
  if (!isSubscription) {
    return { kind: "readStream", stream, from, isBackwards, countMax: countOf(options) };
  }
  // A revision given to a subscription is one the client has seen; the start is not.
  const isSeen = from !== undefined && options.getStream()?.hasRevision() === true;
  return { kind: "subscribeToStream", stream, from: isSeen ? from + 1n : from };
}

function countOf(options: ReadReq.Options): bigint {
  return BigInt(options.getCount());
}

function positionOf(options: ReadReq.Options): bigint | undefined {
  const all = options.getAll();
  if (all?.hasPosition()) return clamp(all.getPosition()?.getCommitPosition() ?? "0");
  return all?.hasEnd() ? undefined : 0n;
}

function revisionOf(options: ReadReq.Options): bigint | undefined {
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
