import type { Recorded } from "../../events/core/event.ts";
import { type Bits, numberOf, readResponse } from "./event-message.ts";
import { isForeign } from "./event-owner.ts";

/** What the library makes of a message; fields that it lacks have their default values. */
type Page = Readonly<{ event: readonly Readonly<{ event: RecordedEvent | null }>[] }>;
type RecordedEvent = Readonly<{
  id: Readonly<{ string: string }> | null;
  streamIdentifier: Readonly<{ streamName: string }> | null;
  streamRevision: Bits;
  commitPosition: Bits;
  metadata: Readonly<Record<string, string>>;
  customMetadata: Uint8Array;
  data: Uint8Array;
}>;

/** Of the numbers that are times, in units of 100 ns: these are left out for milliseconds. */
const digitsBelowMs = 4;

/** The events of a message of `pageMethod`, in the port's shape. */
export function eventsIn(message: Buffer): readonly Recorded[] {
  const page = readResponse.decode(message) as unknown as Page;
  return page.event.flatMap(({ event }) => (event === null ? [] : [recordedIn(event)]));
}

function recordedIn(event: RecordedEvent): Recorded {
  const { type = "", created = "", "content-type": contentType } = event.metadata;
  const [data, bytes] = [Buffer.from(event.data), Buffer.from(event.customMetadata)];
  const isJson = contentType === "application/json";
  const metadata = bytes.length === 0 ? undefined : jsonIn(bytes, "bytes");
  const stream = event.streamIdentifier?.streamName ?? "";
  // Slices parse the data when they decode it.
  return {
    id: event.id?.string ?? "",
    type,
    data: isJson ? jsonIn(data, "text") : data,
    metadata,
    stream,
    revision: numberOf(event.streamRevision),
    position: numberOf(event.commitPosition),
    recordedAt: new Date(Number(created.slice(0, -digitsBelowMs))),
    ...(isForeign({ stream, metadata }, isJson) && { isForeign: true }),
  } as unknown as Recorded;
}

/** @param otherwise what is given for bytes that are no JSON, as by the official client */
function jsonIn(bytes: Buffer, otherwise: "text" | "bytes"): unknown {
  const text = bytes.toString();
  try {
    return JSON.parse(text);
  } catch {
    return otherwise === "text" ? text : bytes;
  }
}
