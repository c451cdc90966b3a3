import { Metadata, status } from "@grpc/grpc-js";
import { expect } from "chai";

import {
  type EventStore,
  StoreUnavailable,
  type SubscriptionItem,
  UnsupportedServer,
} from "../../../src/platform/event-store/event-store.ts";
import { openEventStore } from "../../../src/platform/event-store/eventstoredb.ts";
import { serverVersionProblem } from "../../../src/platform/event-store/server-version.ts";
import { eventually } from "../../support/app/eventually.ts";
import { spawnEventStore } from "../../support/process/event-store-child.ts";
import { testDatabase } from "../../support/store/database.ts";
import {
  checkpoint,
  confirmed,
  eventAt,
  startShim,
} from "../../support/store/eventstoredb-shim.ts";
import { newEvent, newStream } from "../../support/store/test-event.ts";

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
      expect(items).to.deep.equal([{ kind: "checkpoint", position: 5n }]);
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

  it("misses no event after a restart between the two positions of a checkpoint", async () => {
    shim.read((call) => {
      call.write(confirmed());
      call.write(checkpoint(27n, 25n));
    });
    let reached = 0n;
    await following(async (items) => {
      await eventually(() => items.length > 0);
      reached = items[0]?.kind === "checkpoint" ? items[0].position : 0n;
    });
    // As a server does: what lies after both positions that it is given.
    shim.read((call) => {
      const position = call.request.getOptions()?.getAll()?.getPosition();
      const [commit, prepare] = [position?.getCommitPosition(), position?.getPreparePosition()];
      call.write(confirmed());
      if (BigInt(commit ?? 0) < 27n || BigInt(prepare ?? 0) < 27n) call.write(eventAt(27n, 27n));
    });
    const stop = new AbortController();
    for await (const item of store.subscribeAll({ after: reached, signal: stop.signal })) {
      expect(item.kind === "event" && item.event.position > reached).to.equal(true);
      stop.abort();
    }
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

describe("the version of a server", () => {
  for (const version of ["24.10.0", "24.10.4", "24.6.0.2100", "25.0.0", "unknown"]) {
    it(`${version} is refused by name, by every call`, async () => {
      const shim = await startShim(version);
      const store = openEventStore(shim.url);
      const calls = [
        () => store.ping(60_000),
        () => store.head(),
        () => store.append(newStream(), "none", [newEvent(0)]),
        async () => {
          for await (const _ of store.subscribeAll({ signal: new AbortController().signal })) break;
        },
      ];
      for (const call of calls) {
        await expect(call()).to.be.rejectedWith(
          UnsupportedServer,
          `EventStoreDB ${version} is not`,
        );
      }
      expect(shim.reads).to.deep.equal([]);
      await store.close();
    });
  }

  it("is supported from 24.10.5 and 25.0.1 on", () => {
    const versions = ["24.10.5", "24.10.12", "25.0.1", "25.0.1.1234-rc.1", "25.1.0", "26.0.0"];
    for (const version of versions) expect(serverVersionProblem(version)).to.equal(undefined);
  });
});

describe("an address that queries the cluster for its leader", () => {
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
      await eventually(append, 60_000);
      await store.ping(60_000);
    } finally {
      await store.close();
      await server.kill();
    }
  });
});
