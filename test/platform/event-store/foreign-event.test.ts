import { randomUUID } from "node:crypto";
import { binaryEvent, jsonEvent } from "@eventstore/db-client";
import { expect } from "chai";

import type { SubscriptionItem } from "../../../src/platform/event-store/event-store.ts";
import { openEventStore } from "../../../src/platform/event-store/eventstoredb.ts";
import { eventually } from "../../support/app/eventually.ts";
import { testEventStore, testEventStoreClientOf } from "../../support/store/event-store.ts";
import { collect, metadata, newEvent, newStream } from "../../support/store/test-event.ts";

const { url, store: first } = await testEventStore();
const client = testEventStoreClientOf(url);

/** As a client of EventStoreDB appends it. */
const appendOther = (stream: string, ...events: Parameters<typeof client.appendToStream>[1][]) =>
  client.appendToStream(stream, events.flat());

const grant = () => jsonEvent({ type: "update-default-acl", data: { $userStreamAcl: {} } });
const order = () => jsonEvent({ type: "Tested", data: { n: 1 }, metadata: { by: "orders" } });

for (const pages of [true, false]) {
  describe(`events that are not of the service, ${pages ? "in pages" : "by the calls of EventStoreDB alone"}`, () => {
    const store = openEventStore(url, { pages });
    after(() => store.close());
    let stream: string;
    let position: bigint;
    beforeEach(async () => {
      stream = newStream();
      ({ position } = await store.append(stream, "none", [newEvent(0)]));
    });
    const typesAfter = async (options = {}) =>
      (await collect(store.readAll({ after: position, ...options }))).map(({ type }) => type);

    it("are the server's own where their stream begins with $, whatever their type is", async () => {
      const { position: granted } = await appendOther("$settings", grant());
      expect(await store.head()).to.equal(position);
      expect(await typesAfter()).to.deep.equal([]);
      expect(await typesAfter({ withForeign: true })).to.deep.equal([]);
      const counted = { withForeign: true, systemStreamsUpTo: granted?.commit };
      expect(await typesAfter(counted)).to.deep.equal(["update-default-acl"]);
    });

    it("are left out, unless all of the log is wanted", async () => {
      await appendOther(`orders-${randomUUID()}`, order());
      await appendOther(stream, binaryEvent({ type: "Tested", data: Buffer.from("x"), metadata }));
      await appendOther("Not a name of ours", jsonEvent({ type: "Tested", data: {}, metadata }));
      const all = await collect(store.readAll({ after: position, withForeign: true }));
      expect(all.map(({ isForeign }) => isForeign)).to.deep.equal([true, true, true]);
      expect(await typesAfter()).to.deep.equal([]);
      expect(await store.head()).to.equal(all[2]?.position);
    });

    it("are no part of a stream of the service, and do not keep it from being written", async () => {
      await appendOther(stream, order(), order());
      const data = async (events: AsyncIterable<{ data: unknown }>) =>
        (await collect(events)).map((event) => event.data);
      const next = newEvent(1);
      const appended = await store.append(stream, 0n, [next]);
      expect(appended.revision).to.equal(3n);
      expect(await store.append(stream, 0n, [next])).to.deep.equal(appended);
      await appendOther(stream, order());
      expect(await data(store.readStream(stream))).to.deep.equal([{ n: 0 }, { n: 1 }]);
      expect(await data(store.readStream(stream, 1n, 1))).to.deep.equal([{ n: 1 }]);
      expect(await data(store.readStreamBackwards(stream, 1))).to.deep.equal([{ n: 1 }]);
      expect(await data(store.readStreamBackwards(stream, 2))).to.deep.equal([{ n: 1 }, { n: 0 }]);
      await expect(store.append(stream, 0n, [newEvent(2)])).to.be.rejectedWith(stream);
    });
  });
}

describe("a subscription over events that are not of the service", () => {
  const following = async (withForeign: boolean) => {
    const stream = newStream();
    const { position: after } = await first.append(stream, "none", [newEvent(0)]);
    const { position: foreign } = await appendOther(`orders-${randomUUID()}`, order());
    const { position: granted } = await appendOther("$settings", grant());
    const items: SubscriptionItem[] = [];
    const stop = new AbortController();
    const ended = (async () => {
      const options = { after, signal: stop.signal, withForeign };
      for await (const item of first.subscribeAll(options)) items.push(item);
    })();
    await eventually(() => items.some(({ kind }) => kind === "caughtUp"));
    stop.abort();
    await ended;
    const kinds = new Map(
      items.flatMap((item) =>
        item.kind === "event" ? [[item.event.position, "event"]] : positioned(item),
      ) as [bigint, string][],
    );
    return [kinds.get(foreign!.commit), kinds.get(granted!.commit)];
  };
  const positioned = (item: SubscriptionItem) =>
    item.kind === "checkpoint" ? [[item.position, "checkpoint"]] : [];

  it("comes to the positions behind them", async () => {
    expect(await following(false)).to.deep.equal(["checkpoint", "checkpoint"]);
  });

  it("gives those of other applications to who wants all, and none of the server itself", async () => {
    expect(await following(true)).to.deep.equal(["event", "checkpoint"]);
  });
});
