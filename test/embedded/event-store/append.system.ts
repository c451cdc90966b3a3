import { jsonEvent, NO_STREAM } from "@eventstore/db-client";
import { expect } from "chai";

import { testEventStoreClient } from "../../support/store/event-store.ts";
import { newStream } from "../../support/store/test-event.ts";

const client = await testEventStoreClient();

it("takes 30,000 events as one append", async function () {
  this.timeout(240_000);
  const events = Array.from({ length: 30_000 }, (_, n) =>
    jsonEvent({ type: "Small", data: { n } }),
  );
  const stream = newStream();
  const options = { expectedRevision: NO_STREAM, deadline: 120_000 } as const;
  const { nextExpectedRevision } = await client.appendToStream(stream, events, options);
  expect(nextExpectedRevision).to.equal(29_999n);
});
