import { status } from "@grpc/grpc-js";
import { expect } from "chai";

import { withKeepAlive } from "../../../src/platform/event-store/connection.ts";
import type { EventStore } from "../../../src/platform/event-store/event-store.ts";
import { openEventStore } from "../../../src/platform/event-store/eventstoredb.ts";
import { Refusal } from "../../../src/platform/refusal.ts";
import { lags } from "../../../src/projections/status.ts";
import { eventually } from "../../support/app/eventually.ts";
import {
  appended,
  appendedSomewhere,
  eventAt,
  refused,
  startShim,
} from "../../support/store/eventstoredb-shim.ts";
import { collect, newEvent, newStream } from "../../support/store/test-event.ts";

let shim: Awaited<ReturnType<typeof startShim>>;
let store: EventStore;
const clocks: number[] = [];
beforeEach(async () => {
  shim = await startShim();
  clocks.length = 0;
  store = openEventStore(shim.url, { onClock: (aheadMs) => void clocks.push(aheadMs) });
});
afterEach(() => store.close());

const append = () => store.append(newStream(), "none", [newEvent()]);
/** As a process does that stores what it has just decided; `append` is like a repeat of an earlier one. */
const appendNow = () => {
  const event = newEvent();
  const metadata = { ...event.metadata, occurredAt: new Date().toISOString() };
  return store.append(newStream(), "none", [{ ...event, metadata }]);
};

describe("the calls of one connection to the event store", () => {
  it("are fewer than a server takes at once, however many are made", async () => {
    let most = 0;
    const open = new Set<() => void>();
    shim.read((call) => {
      open.add(() => {
        call.write(eventAt(7n, 7n));
        call.end();
      });
      most = Math.max(most, open.size);
    });
    shim.append((call) => call.on("data", (request) => call.write(appended(request, 7n))));
    const reads = Array.from({ length: 150 }, () => collect(store.readStream(newStream())));
    await eventually(() => open.size >= 80);
    const appends = Array.from({ length: 150 }, append);
    expect(await Promise.all(appends)).to.have.length(150);
    const all = Promise.all(reads);
    let isRead = false;
    void all.then(() => {
      isRead = true;
    });
    await eventually(() => {
      for (const end of open) end();
      open.clear();
      return isRead;
    });
    expect((await all).every(({ length }) => length === 1)).to.equal(true);
    expect(most).to.be.at.most(80);
  });
});

describe("the newest event, behind many of the server's own", () => {
  it("is looked for back to where the last search began", async () => {
    const system = (position: bigint) => eventAt(position, position, "$statistics");
    shim.read((call) => {
      const count = call.request.getOptions()?.getCount();
      call.write(system(99n));
      if (count !== "1") call.write(eventAt(7n, 7n));
      call.end();
    });
    expect(await store.head()).to.equal(7n);
    shim.read((call) => {
      call.write(system(101n));
      if (call.request.getOptions()?.getCount() === "1") call.end();
      else {
        // More never comes: all of the rest has been looked through.
        call.write(system(100n));
        call.write(system(99n));
      }
    });
    expect(await store.head()).to.equal(7n);
    shim.read((call) => {
      call.write(eventAt(5n, 5n));
      call.end();
    });
    expect(await store.head()).to.equal(5n);
  });
});

describe("an append to the event store", () => {
  it("names a time to give up at which no wrong clock has reached", async () => {
    let seconds = 0;
    shim.append((call) =>
      call.on("data", (request) => {
        seconds = request.getOptions()?.getDeadline()?.getSeconds() ?? 0;
        call.write(appended(request, 7n));
      }),
    );
    await append();
    expect(seconds * 1000 - Date.now()).to.be.greaterThan(12 * 3_600_000);
  });

  it("shows how far the clock of the store is from that of this machine", async () => {
    shim.append((call) => call.on("data", (request) => call.write(appended(request, 7n))));
    // Stored in 1970.
    shim.read((call) => {
      call.write(eventAt(7n, 7n));
      call.end();
    });
    await append();
    expect(clocks).to.deep.equal([]);
    await appendNow();
    await eventually(() => clocks.length === 1);
    await appendNow();
    expect(clocks).to.have.length(1);
    expect(Math.abs(store.clockAheadMs() + Date.now())).to.be.lessThan(60_000);
    // A read model that lacks an event that was stored a second ago, by the clock of the store.
    shim.read((call) => {
      call.write(eventAt(9n, 9n));
      call.end();
    });
    const now = new Date(Date.now() + 1_000);
    expect((await lags(store, [8n], now))(8n).lagSeconds).to.be.within(0, 30);
  });

  it("is repeated when the server did not finish it in time", async () => {
    let requested = 0;
    shim.append((call) =>
      call.on("data", (request) => {
        requested += 1;
        call.write(requested === 1 ? refused(request, { kind: "timeout" }) : appended(request, 7n));
      }),
    );
    expect((await append()).position).to.equal(7n);
  });

  it("is settled by the end of the log when its event was there and is gone", async () => {
    shim.append((call) => call.on("data", (request) => call.write(appendedSomewhere(request))));
    shim.read((call) => {
      call.write(eventAt(9n, 9n));
      call.end();
    });
    expect(await append()).to.deep.equal({ position: 9n, revision: 0n });
  });

  it("that is larger than the server takes is the caller's mistake", async () => {
    shim.append((call) =>
      call.on("data", (request) =>
        call.write(refused(request, { kind: "appendTooLarge", bytesMax: 10 })),
      ),
    );
    await expect(append()).to.be.rejectedWith(Refusal, "10 bytes");
  });
});

describe("a read of the log from where no event is", () => {
  it("says that the log is another one", async () => {
    const error = { code: status.UNKNOWN, details: "Unexpected ReadAllResult: Error" };
    shim.read((call) => void call.emit("error", error));
    const reading = collect(store.readAll({ after: 5n }));
    await expect(reading).to.be.rejectedWith("it is another one");
  });
});

describe("the address of an event store", () => {
  it("has a shorter keepalive than the client's, unless it names one", () => {
    const own = "keepAliveInterval=10000&keepAliveTimeout=2000&gossipTimeout=2";
    expect(withKeepAlive("esdb://a:2113")).to.equal(`esdb://a:2113?${own}`);
    const address = "esdb://user:what?@a:2113,b:2113";
    expect(withKeepAlive(`${address}?tls=false`)).to.equal(`${address}?tls=false&${own}`);
    expect(withKeepAlive("esdb://a?keep-alive-timeout=9000")).to.equal(
      "esdb://a?keep-alive-timeout=9000&keepAliveInterval=10000&gossipTimeout=2",
    );
  });
});
