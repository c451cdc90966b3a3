import { expect } from "chai";

import { StoreUnavailable } from "../../../src/platform/event-store/event-store.ts";
import { openEventStore } from "../../../src/platform/event-store/eventstoredb.ts";
import { appended, startShim } from "../../support/store/eventstoredb-shim.ts";
import { newEvent, newStream } from "../../support/store/test-event.ts";

/** What a caller may wait, and a busy machine may take. */
const answerMsMax = 7_000;

describe("appends to an event store that hangs", () => {
  it("fail five seconds after they were called, those that wait as well, and leave the connection", async () => {
    const shim = await startShim();
    const store = openEventStore(shim.url);
    const append = () => store.append(newStream(), "any", [newEvent()]);
    try {
      shim.append(() => undefined);
      const since = performance.now();
      const results = await Promise.allSettled(Array.from({ length: 40 }, append));
      expect(performance.now() - since).to.be.within(4_900, answerMsMax);
      for (const result of results) {
        expect(result.status === "rejected" && result.reason).to.be.instanceOf(StoreUnavailable);
      }
      shim.append((call) => call.on("data", (request) => call.write(appended(request, 7n))));
      expect((await append()).position).to.equal(7n);
    } finally {
      await store.close();
    }
  });

  it("are repeated on the next connection, where a repeat writes nothing twice", async () => {
    const shim = await startShim();
    const store = openEventStore(shim.url);
    try {
      shim.append(() => undefined);
      const late = store.append(newStream(), "none", [newEvent()]);
      const failed = late.catch((error: unknown) => error);
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      const begun = store.append(newStream(), "none", [newEvent()]);
      shim.append((call) => call.on("data", (request) => call.write(appended(request, 7n))));
      expect(await failed).to.be.instanceOf(StoreUnavailable);
      expect((await begun).position).to.equal(7n);
    } finally {
      await store.close();
    }
  });
});
