import { Metadata, status } from "@grpc/grpc-js";
import { expect } from "chai";

import {
  type EventStore,
  StoreDenied,
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

const positionOf = (item: Exclude<SubscriptionItem, { kind: "caughtUp" }>): bigint =>
  item.kind === "event" ? item.event.position : item.position;

describe("the port to servers that behave like EventStoreDB", () => {
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
      call.write(checkpoint(7n, 0n));
    });
    await following(async (items) => {
      await eventually(() => items.length > 0);
      expect(items).to.deep.equal([{ kind: "checkpoint", position: 7n }]);
    });
  });

  it("goes on from a checkpoint of a subscription that catches up, which has one number alone", async () => {
    shim.reads.length = 0;
    shim.read((call) => {
      call.write(confirmed());
      call.write(checkpoint(7n, 0n));
      if (shim.reads.length === 1) setImmediate(() => call.end());
    });
    await following(async () => {
      await eventually(() => shim.reads.length > 1);
      const position = shim.reads[1]?.request.getOptions()?.getAll()?.getPosition();
      const both = [position?.getCommitPosition(), position?.getPreparePosition()];
      expect(both).to.deep.equal(["7", "7"]);
    });
  });

  it("records how far it has come over events of the server alone", async () => {
    shim.read((call) => {
      call.write(confirmed());
      call.write(checkpoint(27n, 0n));
      call.write(eventAt(31n, 31n));
      call.write(checkpoint(59n, 0n));
    });
    await following(async (items) => {
      await eventually(() => items.length > 2);
      const positions = items.map((item) =>
        item.kind === "caughtUp" ? undefined : positionOf(item),
      );
      expect(positions).to.deep.equal([27n, 31n, 59n]);
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

  for (const [code, exception, text] of [
    [status.PERMISSION_DENIED, "access-denied", "lacks a right; docs/operations.md"],
    [status.UNAUTHENTICATED, undefined, "password is wrong"],
  ] as const) {
    it(`says why access is denied: ${text}`, async () => {
      shim.read((call) => void call.emit("error", failing(code, "Access Denied", exception)));
      const denied = await store.head().catch((error: unknown) => error);
      expect(denied)
        .to.be.instanceOf(StoreDenied)
        .and.to.have.property("message")
        .that.includes(text);
      // A store that refuses is one that cannot be used now: callers answer 503, and roles wait.
      expect(denied).to.be.instanceOf(StoreUnavailable);
    });
  }
});

describe("the version of a server", () => {
  for (const version of ["24.10.0", "24.10.4", "24.6.0.2100", "25.0.0", "23.10.5", "unknown"]) {
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

  it("is supported from 23.10.6, 24.10.5 and 25.0.1 on", () => {
    const versions = [
      "23.10.6",
      "23.10.7.0",
      "24.10.5",
      "24.10.12",
      "25.0.1",
      "25.0.1.1234-rc.1",
      "25.1.0",
      "26.0.0",
    ];
    for (const version of versions) expect(serverVersionProblem(version)).to.equal(undefined);
  });

  it("is refused with the fault that it is known for", () => {
    expect(serverVersionProblem("24.10.4")).to.include("checkpoints that are no positions");
    expect(serverVersionProblem("25.0.0")).to.include("leave out events after a reconnect");
    expect(serverVersionProblem("22.10.0")).to.include("never tried");
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
