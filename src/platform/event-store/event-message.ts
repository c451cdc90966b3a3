import protobuf from "protobufjs/light.js";

const uint64 = (id: number) => ({ type: "uint64", id });
const metadata: protobuf.IMapField = { keyType: "string", type: "string", id: 6 };

const messages = protobuf.Root.fromJSON({
  nested: {
    // One of the protocol gives one event: several in a row are one message that gives several.
    ReadResp: { fields: { event: { rule: "repeated", type: "ReadEvent", id: 1 } } },
    ReadEvent: {
      fields: { event: { type: "RecordedEvent", id: 1 }, commitPosition: uint64(3) },
    },
    RecordedEvent: {
      fields: {
        id: { type: "Uuid", id: 1 },
        streamIdentifier: { type: "StreamIdentifier", id: 2 },
        ...{ streamRevision: uint64(3), preparePosition: uint64(4), commitPosition: uint64(5) },
        metadata,
        customMetadata: { type: "bytes", id: 7 },
        data: { type: "bytes", id: 8 },
      },
    },
    Uuid: {
      fields: { structured: { type: "Structured", id: 1 }, string: { type: "string", id: 2 } },
    },
    Structured: {
      fields: {
        mostSignificantBits: { type: "int64", id: 1 },
        leastSignificantBits: { type: "int64", id: 2 },
      },
    },
    StreamIdentifier: { fields: { streamName: { type: "string", id: 3 } } },
  },
});

/**
 * `ReadResp` with the messages in it, as far as they give events; see streams.proto of EventStoreDB. A log is millions of
 * them: through objects of the client's generated classes each takes several times as long.
 */
export const readResponse = messages.lookupType("ReadResp");

/** A number of 64 bits as the library takes and gives it. */
export type Bits = Readonly<{ low: number; high: number }>;

export const bitsOf = (number: bigint): Bits => ({
  low: Number(BigInt.asUintN(32, number)),
  high: Number(BigInt.asUintN(32, number >> 32n)),
});

export const numberOf = ({ low, high }: Bits): bigint =>
  (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0);
