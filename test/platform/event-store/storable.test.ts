import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { mustBeStorable } from "../../../src/platform/event-store/storable.ts";
import { metadataFor } from "../../support/app/history.ts";

describe("mustBeStorable", () => {
  it("checks the data and the metadata of an event", () => {
    const id = randomUUID();
    const metadata = metadataFor(id);
    const event = { id, type: "T", data: {}, metadata };
    mustBeStorable([event]);
    for (const bad of [
      { ...event, data: { a: "\0" } },
      { ...event, metadata: { ...metadata, correlationId: "\ud800" } },
    ]) {
      expect(() => mustBeStorable([bad])).to.throw("holds a NUL or half of a surrogate pair");
    }
  });
});
