import sharedPb from "@eventstore/db-client/generated/shared_pb.js";
import type {
  AppendReq,
  BatchAppendReq,
  DeleteReq,
  TombstoneReq,
} from "@eventstore/db-client/generated/streams_pb.js";

import {
  countedBytes,
  type ExpectedRevision,
  type ProposedEvent,
  sizeOf,
  tombstoneRevision,
} from "./event.ts";
import { invalid, StoreFailure } from "./failure.ts";

type Message<T> = T extends new () => infer M ? M : never;
type Uuid = Message<typeof sharedPb.UUID>;
type StreamIdentifier = Message<typeof sharedPb.StreamIdentifier>;

/** An index entry of the database holds at most about 2 700 bytes. */
const streamBytesMax = 1_024;

/** What the server of the protocol allows by default. */
const appendBytesMax = 1024 * 1024;
/** Of everything that an append holds, for the memory it takes here. */
export const heldBytesMax = 64 * 1024 * 1024;

/** @throws StoreFailure */
export function streamNameOf(identifier: StreamIdentifier | undefined): string {
  const bytes = identifier?.getStreamName_asU8() ?? new Uint8Array();
  const name = Buffer.from(bytes).toString("utf8");
  if (name === "" || name === "$all") throw invalid("A stream needs a name of its own");
  if (bytes.length > streamBytesMax) throw invalid("The stream name is too long");
  if (name.includes("\0")) throw invalid("A stream name holds no NUL");
  return name;
}

export function streamIdentifier(name: string): StreamIdentifier {
  return new sharedPb.StreamIdentifier().setStreamName(new Uint8Array(Buffer.from(name, "utf8")));
}

/** In lower case. @throws StoreFailure */
export function uuidTextOf(uuid: Uuid | undefined): string {
  const structured = uuid?.getStructured();
  const text = structured === undefined ? uuid?.getString() : textOfBits(structured);
  if (text === undefined || !/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)) {
    throw invalid("An event id must be a UUID");
  }
  return text.toLowerCase();
}

function textOfBits(bits: Message<typeof sharedPb.UUID.Structured>): string {
  const halves = [bits.getMostSignificantBits(), bits.getLeastSignificantBits()];
  const hex = halves.map((half) => BigInt.asUintN(64, BigInt(half)).toString(16).padStart(16, "0"));
  return hex.join("").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

export function uuidOf(text: string, isStructured: boolean): Uuid {
  if (!isStructured) return new sharedPb.UUID().setString(text);
  const bits = BigInt(`0x${text.replaceAll("-", "")}`);
  const structured = new sharedPb.UUID.Structured()
    .setMostSignificantBits(BigInt.asIntN(64, bits >> 64n).toString())
    .setLeastSignificantBits(BigInt.asIntN(64, bits).toString());
  return new sharedPb.UUID().setStructured(structured);
}

type RevisionOptions = AppendReq.Options | DeleteReq.Options | TombstoneReq.Options;

/** @throws StoreFailure */
export function expectedOf(options: RevisionOptions | BatchAppendReq.Options): ExpectedRevision {
  if (options.hasAny()) return "any";
  if (options.hasNoStream()) return "no_stream";
  if (options.hasStreamExists()) return "stream_exists";
  if ("hasRevision" in options) {
    if (options.hasRevision()) return clamp(options.getRevision());
  } else if (options.hasStreamPosition()) {
    return clamp(options.getStreamPosition());
  }
  throw invalid("An append says what it expects of the stream");
}

/** Positions travel as uint64; none of ours is beyond int64. */
export function clamp(position: string): bigint {
  const value = BigInt(position);
  return value < tombstoneRevision ? value : tombstoneRevision - 1n;
}

/** @throws StoreFailure */
export function proposedOf(
  message: AppendReq.ProposedMessage | BatchAppendReq.ProposedMessage,
): ProposedEvent {
  const properties = message.getMetadataMap();
  const type = properties.get("type");
  const contentType = properties.get("content-type");
  const names = [
    ...(type === undefined ? ["type"] : []),
    ...(contentType === undefined ? ["content-type"] : []),
  ];
  if (type === undefined || contentType === undefined) {
    throw new StoreFailure({ kind: "missingProperties", names });
  }
  if (type === "" || type.includes("\0")) throw invalid("An event type is text without NUL");
  return {
    id: uuidTextOf(message.getId()),
    type,
    isJson: contentType === "application/json",
    data: message.getData_asU8(),
    metadata: message.getCustomMetadata_asU8(),
  };
}

/** @throws StoreFailure when an append of these events is beyond the limit. */
export function checkSize(events: readonly ProposedEvent[]): void {
  const counted = events.reduce((sum, event) => sum + countedBytes(event), 0);
  const held = events.reduce((sum, event) => sum + sizeOf(event), 0);
  if (counted > appendBytesMax || held > heldBytesMax) {
    throw new StoreFailure({ kind: "appendTooLarge", bytesMax: appendBytesMax });
  }
}
