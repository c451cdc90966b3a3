import streamsPb from "@eventstore/db-client/generated/streams_pb.js";
import { expect } from "chai";

import { streamIdentifier, uuidOf } from "../../../src/embedded/event-store/codec.ts";
import type { StoredEvent } from "../../../src/embedded/event-store/event.ts";
import { eventBytes } from "../../../src/embedded/event-store/event-bytes.ts";
import { storedEvent, storedEventCases } from "../../support/store/stored-events.ts";

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

describe("the bytes of an event that is read", () => {
  for (const [name, changed] of Object.entries(storedEventCases)) {
    it(`are those that the protocol's own classes make of ${name}`, () => {
      for (const structuredIds of [true, false]) {
        const given = { ...storedEvent, ...changed };
        const bytes = eventBytes(given, structuredIds);
        expect(bytes.equals(generated(given, structuredIds))).to.equal(true);
      }
    });
  }
});
