import { type Bits, bitsOf, readResponse } from "../../platform/event-store/event-message.ts";
import type { StoredEvent } from "./event.ts";

/**
 * The answer of a read that gives one event, as the protocol's `ReadResp` is encoded. Fields with their default value
 * are left out, as the protocol's own classes do.
 */
export function eventBytes(event: StoredEvent, structuredIds: boolean): Buffer {
  const record = {
    id: structuredIds ? { structured: structuredOf(event.id) } : { string: event.id },
    streamIdentifier: { streamName: event.stream },
    streamRevision: unlessZero(event.revision),
    preparePosition: unlessZero(event.position),
    commitPosition: unlessZero(event.position),
    // Sorted by name.
    metadata: {
      "content-type": event.isJson ? "application/json" : "application/octet-stream",
      created: event.created.toString(),
      type: event.type,
    },
    customMetadata: unlessEmpty(event.metadata),
    data: unlessEmpty(event.data),
  };
  const given = { event: record, commitPosition: bitsOf(event.position) };
  // In Node.js the library writes into a buffer.
  return readResponse.encode({ event: [given] }).finish() as Buffer;
}

const unlessZero = (number: bigint): Bits | undefined =>
  number === 0n ? undefined : bitsOf(number);

const unlessEmpty = (bytes: Uint8Array): Uint8Array | undefined =>
  bytes.length === 0 ? undefined : bytes;

function structuredOf(id: string) {
  const bits = BigInt(`0x${id.replaceAll("-", "")}`);
  return {
    mostSignificantBits: unlessZero(bits >> 64n),
    leastSignificantBits: unlessZero(BigInt.asUintN(64, bits)),
  };
}
