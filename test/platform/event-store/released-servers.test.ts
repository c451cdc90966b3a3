import { Metadata, status } from "@grpc/grpc-js";
import { expect } from "chai";

import {
  type EventStore,
  StoreUnavailable,
  type SubscriptionItem,
} from "../../../src/platform/event-store/event-store.ts";
import { openEventStore } from "../../../src/platform/event-store/eventstoredb.ts";
import { testDatabase } from "../../support/database.ts";
import { spawnEventStore } from "../../support/event-store-child.ts";
import { checkpoint, confirmed, startShim } from "../../support/eventstoredb-shim.ts";
import { eventually } from "../../support/eventually.ts";
import { newEvent, newStream } from "../../support/test-event.ts";

const failing = (code: status, details: string, exception?: string) => {
  const metadata = new Metadata();
  if (exception !== undefined) metadata.set("exception", exception);
  return Object.assign(new Error(details), { code, details, metadata });
};

describe("the port to servers that behave like EventStoreDB 24.10 and 25.0", () => {
  let shim: Awaited<ReturnType<typeof startShim>>;
  let store: EventStore;
  before(async () => {
    shim = await startShim();
    store = openEventStore(shim.url);
  });
  after(() => store.close());

  async function following(run: (items: readonly SubscriptionItem[]) => Promise<void>) {
    const stop = new AbortController();
    const items: SubscriptionItem[] = [];
    const ended = (async () => {
      for await (const item of store.subscribeAll({ signal: stop.signal })) items.push(item);
    })();
    await run(items);
    stop.abort();
    await ended;
  }

  it("ignores a checkpoint that is no position, which 24.10.0 sends", async () => {
    shim.read((call) => {
      call.write(confirmed());
      call.write(checkpoint(2n ** 64n - 1n, 2n ** 64n - 1n));
      call.write(checkpoint(7n, 5n));
    });
    await following(async (items) => {
      await eventually(() => items.length > 0);
      expect(items).to.deep.equal([{ kind: "checkpoint", position: 7n }]);
    });
  });

  it("goes on from both positions of a checkpoint", async () => {
    shim.reads.length = 0;
    shim.read((call) => {
      call.write(confirmed());
      call.write(checkpoint(7n, 5n));
      if (shim.reads.length === 1) setImmediate(() => call.end());
    });
    await following(async () => {
      await eventually(() => shim.reads.length > 1);
      const position = shim.reads[1]?.request.getOptions()?.getAll()?.getPosition();
      const both = [position?.getCommitPosition(), position?.getPreparePosition()];
      expect(both).to.deep.equal(["7", "5"]);
    });
  });

  for (const text of ["No leader info available in response", "Server Is Not Ready"]) {
    it(`waits while the server says "${text}"`, async () => {
      shim.read((call) => void call.emit("error", failing(status.UNKNOWN, text)));
      await expect(store.head()).to.be.rejectedWith(StoreUnavailable);
      shim.reads.length = 0;
      await following(async () => {
        await eventually(() => shim.reads.length > 1);
        shim.read((call) => {
          call.write(confirmed());
          call.write(checkpoint(9n, 9n));
        });
        await eventually(() => shim.reads.length > 2);
      });
    });
  }

  it("says what to do when access is denied", async () => {
    const denied = failing(status.PERMISSION_DENIED, "Access Denied", "access-denied");
    shim.read((call) => void call.emit("error", denied));
    await expect(store.head()).to.be.rejectedWith("docs/operations.md");
  });
});

describe("an address that asks the cluster for its leader", () => {
  it("finds it after a discovery that failed, without a restart", async () => {
    const { url } = await testDatabase();
    let server = await spawnEventStore(url);
    await server.kill();
    const address = `esdb+discover://127.0.0.1:${server.port}?tls=false&maxDiscoverAttempts=1`;
    const store = openEventStore(address);
    const append = () => store.append(newStream(), "none", [newEvent(0)]);
    await expect(append()).to.be.rejectedWith(StoreUnavailable);
    await expect(store.ping(1_000)).to.be.rejectedWith(StoreUnavailable);
    server = await spawnEventStore(url, server.port);
    try {
      await append();
      await store.ping(1_000);
    } finally {
      await store.close();
      await server.kill();
    }
  });
});
