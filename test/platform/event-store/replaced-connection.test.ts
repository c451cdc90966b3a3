import { status } from "@grpc/grpc-js";
import { expect } from "chai";

import {
  type EventStore,
  StoreUnavailable,
} from "../../../src/platform/event-store/event-store.ts";
import { openEventStore } from "../../../src/platform/event-store/eventstoredb.ts";
import { eventually } from "../../support/app/eventually.ts";
import { appended, eventAt, startShim } from "../../support/store/eventstoredb-shim.ts";
import { type Gate, openGate } from "../../support/store/gate.ts";
import { collect, newEvent, newStream } from "../../support/store/test-event.ts";

describe("a call that begins while the connection to the event store is replaced", () => {
  let shim: Awaited<ReturnType<typeof startShim>>;
  let gate: Gate;
  let store: EventStore;
  before(async () => {
    shim = await startShim();
    gate = await openGate(shim.port);
  });
  beforeEach(() => {
    store = openEventStore(`esdb://127.0.0.1:${gate.port}?tls=false`);
    shim.reads.length = 0;
  });
  afterEach(() => store.close());

  /**
   * The server takes no more calls on the connection, so a new one is being opened when the last call of the old one
   * fails: the client closes the channel of both then, and the calls that wait for the new connection never start.
   */
  async function whileReplacing<Result>(begin: () => Promise<Result>): Promise<Result> {
    shim.read(() => undefined);
    const old = collect(store.readStream(newStream())).catch((error: unknown) => error);
    await eventually(() => shim.reads.length === 1);
    shim.read((call) => {
      call.write(eventAt(7n, 7n));
      call.end();
    });
    gate.hold();
    shim.drain();
    // The first of them may still go out on the old connection.
    await eventually(() => {
      void store.head().catch(() => undefined);
      return gate.held() > 0;
    });
    const begun = begin();
    begun.catch(() => undefined);
    await new Promise(setImmediate);
    shim.reads[0]?.emit("error", { code: status.UNAVAILABLE, details: "restarting" });
    expect(String(await old)).to.contain("restarting");
    gate.release();
    return begun;
  }

  it("reads a stream on the new one", async () => {
    const read = await whileReplacing(() => collect(store.readStream(newStream())));
    expect(read.map(({ position }) => position)).to.deep.equal([7n]);
  });

  it("reads the log on the new one", async () => {
    const read = await whileReplacing(() => collect(store.readAll()));
    expect(read.map(({ position }) => position)).to.deep.equal([7n]);
  });

  it("finds the newest event on the new one", async () => {
    expect(await whileReplacing(() => store.head())).to.equal(7n);
  });

  it("appends on the new one", async () => {
    shim.append((call) => call.on("data", (request) => call.write(appended(request, 7n))));
    const { position } = await whileReplacing(() =>
      store.append(newStream(), "none", [newEvent()]),
    );
    expect(position).to.equal(7n);
  });

  it("does not repeat an append to any revision, which may be written twice", async () => {
    const appending = whileReplacing(() => store.append(newStream(), "any", [newEvent()]));
    await expect(appending).to.be.rejectedWith(StoreUnavailable, "Channel closed");
  });
});

describe("a read that fails after it gave events", () => {
  it("is not begun again, however the failure is worded", async () => {
    const shim = await startShim();
    const store = openEventStore(shim.url);
    shim.read((call) => {
      call.write(eventAt(7n, 7n));
      setImmediate(() => {
        call.emit("error", { code: status.UNAVAILABLE, details: "Channel has been shut down" });
      });
    });
    const given: bigint[] = [];
    const reading = (async () => {
      for await (const { position } of store.readStream(newStream())) given.push(position);
    })();
    await expect(reading).to.be.rejectedWith(StoreUnavailable, "Channel has been shut down");
    expect(given).to.deep.equal([7n]);
    await store.close();
  });
});
