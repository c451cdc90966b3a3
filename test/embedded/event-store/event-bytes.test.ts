import streamsPb from "@eventstore/db-client/generated/streams_pb.js";
import { expect } from "chai";

import { streamIdentifier, uuidOf } from "../../../src/embedded/event-store/codec.ts";
import { type StoredEvent, tombstoneRevision } from "../../../src/embedded/event-store/event.ts";
import { eventBytes } from "../../../src/embedded/event-store/event-bytes.ts";

/** The same by the classes that the protocol's own compiler made. */
function generated(event: StoredEvent, structuredIds: boolean): Buffer {
  const position = event.position.toString();
  const record = new streamsPb.ReadResp.ReadEvent.RecordedEvent()
    .setId(uuidOf(event.id, structuredIds))
    .setStreamIdentifier(streamIdentifier(event.stream))
    .setStreamRevision(event.revision.toString())
    .setCommitPosition(position)
    .setPreparePosition(position)
    .setData(event.data)
    .setCustomMetadata(event.metadata);
  record
    .getMetadataMap()
    .set("type", event.type)
    .set("content-type", event.isJson ? "application/json" : "application/octet-stream")
    .set("created", event.created.toString());
  const readEvent = new streamsPb.ReadResp.ReadEvent().setEvent(record).setCommitPosition(position);
  return Buffer.from(new streamsPb.ReadResp().setEvent(readEvent).serializeBinary());
}

const event: StoredEvent = {
  id: "2f0c9a4e-7b7c-4f0a-9d3e-5a1b2c3d4e5f",
  type: "IssueEdited",
  isJson: true,
  data: Buffer.from('{"title":"Ж"}'),
  metadata: Buffer.from("{}"),
  position: 7n,
  stream: "issue-1",
  revision: 0n,
  created: 17_000_000_000_000_000n,
};

const over: Readonly<Record<string, Partial<StoredEvent>>> = {
  "an ordinary one": {},
  "numbers of each length": { position: 300n, revision: 2n ** 32n + 5n },
  "the largest numbers": { position: 2n ** 62n + 129n, revision: tombstoneRevision },
  "the first revision at the start": { position: 0n, revision: 0n },
  "an id of ones": { id: "ffffffff-ffff-ffff-ffff-ffffffffffff" },
  "an id of zeros": { id: "00000000-0000-0000-0000-000000000000" },
  "an id with one half of zeros": { id: "00000000-0000-0000-8000-000000000001" },
  "bytes of another kind, and none": {
    isJson: false,
    data: new Uint8Array(),
    metadata: new Uint8Array(),
  },
  "long and foreign names": { stream: `поток-${"x🙂".repeat(250)}`, type: "Тип".repeat(50) },
  "data of 127, 128 and more bytes": { data: Buffer.alloc(127), metadata: Buffer.alloc(128) },
  "data of a megabyte": { data: Buffer.alloc(1_048_576, 7), metadata: Buffer.alloc(20_000, 9) },
};

describe("the bytes of an event that is read", () => {
  for (const [name, changed] of Object.entries(over)) {
    it(`are those that the protocol's own classes make of ${name}`, () => {
      for (const structuredIds of [true, false]) {
        const given = { ...event, ...changed };
        const bytes = eventBytes(given, structuredIds);
        expect(bytes.equals(generated(given, structuredIds))).to.equal(true);
      }
    });
  }
});
