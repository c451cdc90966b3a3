import { randomUUID } from "node:crypto";
import { expect } from "chai";
import pino from "pino";
import { z } from "zod";

import type { NewEvent, Recorded } from "../../../src/events/core/event.ts";
import { StoreUnavailable } from "../../../src/platform/event-store/event-store.ts";
import { type Job, PermanentFailure, type Queues } from "../../../src/platform/queue/queue.ts";
import { Refusal } from "../../../src/platform/refusal.ts";
import type { WorkerDeps } from "../../../src/services/core/deps.ts";
import type { Reactor } from "../../../src/workers/core/reactor.ts";
import { runReactors } from "../../../src/workers/core/run-reactors.ts";
import {
  countSetAside,
  listSetAside,
  patiently,
  requestRetry,
  retrySetAside,
} from "../../../src/workers/core/set-aside.ts";
import { eventually } from "../../support/app/eventually.ts";
import { metadataFor } from "../../support/app/history.ts";
import { whileSuspended } from "../../support/app/suspended.ts";
import { testDatabase } from "../../support/store/database.ts";
import { testEventStore } from "../../support/store/event-store.ts";

const { db } = await testDatabase();
const { store } = await testEventStore();
const added: Job[] = [];
const queues = { add: async (jobs: readonly Job[]) => void added.push(...jobs) } as Queues;
const deps = { store, db, queues, log: pino({ level: "silent" }) } as unknown as WorkerDeps;
/** Another one for each test: the log is shared, and a reactor starts at its beginning. */
let type = "";

function reactorThat(react: (event: Recorded) => void): Reactor {
  return {
    name: `reactor-${randomUUID()}`,
    types: new Set([type]),
    async react(event) {
      react(event);
      return [{ queue: "q", id: event.id, data: { n: event.data["n"] } }];
    },
  };
}

async function written(...numbers: readonly number[]): Promise<readonly Recorded[]> {
  const stream = `tested-${randomUUID()}`;
  const events = numbers.map((n): NewEvent => {
    const id = randomUUID();
    return { id, type, data: { n }, metadata: metadataFor(id) };
  });
  await store.append(stream, "none", events);
  const recorded: Recorded[] = [];
  for await (const event of store.readStream(stream)) recorded.push(event);
  return recorded;
}

const asideOf = async ({ name }: Reactor) =>
  (await listSetAside(db)).filter(({ reactor }) => reactor === name);

describe("events set aside", () => {
  beforeEach(() => {
    type = `Tested${randomUUID().replaceAll("-", "")}`;
    added.splice(0);
  });

  for (const [what, error] of [
    ["a permanent failure", new PermanentFailure("gone")],
    ["a refusal", new Refusal("unprocessable", "event.too_large", "too large")],
    ["data that does not parse", new z.ZodError([])],
  ] as const) {
    it(`go aside at once for ${what}`, async () => {
      const [event] = await written(1);
      const reactor = reactorThat(() => {
        throw error;
      });
      expect(await patiently(reactor, deps)(event as Recorded)).to.deep.equal([]);
      const [aside] = await asideOf(reactor);
      expect(aside).to.include({ event_id: event?.id, type, reason: error.message });
    });
  }

  it("go aside at once when reacting to them has stopped the process twice", async () => {
    const [bad, good] = await written(1, 2);
    const seen: unknown[] = [];
    const reactor = reactorThat(({ data }) => seen.push(data["n"]));
    const react = patiently(reactor, deps);
    const running = { name: `reactor-${reactor.name}`, caller: `event ${bad?.id}` };
    await whileSuspended([running], async () => {
      expect(await react(bad as Recorded)).to.deep.equal([]);
      expect(await react(good as Recorded)).to.have.length(1);
    });
    expect(seen).to.deep.equal([2]);
    const [aside] = await asideOf(reactor);
    expect(aside).to.include({ event_id: bad?.id, reason: "It has stopped the process twice." });
  });

  for (const [what, error] of [
    ["a store that is away", new StoreUnavailable("away")],
    ["a lagging read model", new Refusal("unavailable", "projection.lagging", "later")],
    ["a read model that is being built", Object.assign(new Error("no table"), { code: "42P01" })],
    ["a full disk", Object.assign(new Error("full"), { code: "ENOSPC" })],
  ] as const) {
    it(`do not go aside for ${what}`, async () => {
      const [event] = await written(1);
      const reactor = reactorThat(() => {
        throw error;
      });
      const react = patiently(reactor, deps);
      for (let attempt = 0; attempt < 20; attempt += 1) {
        await expect(react(event as Recorded)).to.be.rejectedWith(error.message);
      }
      expect(await asideOf(reactor)).to.deep.equal([]);
    });
  }

  it("go aside after eight attempts for an error of an unknown kind", async () => {
    const [event] = await written(1);
    const reactor = reactorThat(() => {
      throw new Error("a\0bug\ud800");
    });
    const react = patiently(reactor, deps);
    for (let attempt = 1; attempt < 8; attempt += 1) {
      await expect(react(event as Recorded)).to.be.rejected;
    }
    expect(await react(event as Recorded)).to.deep.equal([]);
    expect((await asideOf(reactor))[0]?.reason).to.equal("a\ufffdbug\ufffd");
  });

  it("let the events behind them go on, and are tried again on request", async () => {
    let broken = true;
    const reactor = reactorThat(({ data }) => {
      if (broken && data["n"] === 2) throw new PermanentFailure("two");
    });
    const events = await written(1, 2, 3);
    const stop = new AbortController();
    const running = runReactors([reactor], deps, stop.signal);
    const numbers = () => added.map(({ data }) => data["n"]);
    await eventually(() => numbers().includes(3)).finally(() => stop.abort());
    await running;
    expect(numbers()).to.deep.equal([1, 3]);
    expect((await countSetAside(db)).get(reactor.name)).to.equal(1);

    const sweep = retrySetAside([reactor]);
    await sweep(deps);
    expect(numbers(), "not before it is asked for").to.deep.equal([1, 3]);
    expect(await requestRetry(db, events[1]?.id)).to.equal(1);
    await sweep(deps);
    expect((await asideOf(reactor))[0]).to.include({ reason: "two", retry_requested_at: null });

    broken = false;
    await requestRetry(db, events[1]?.id);
    await sweep(deps);
    expect(numbers()).to.deep.equal([1, 3, 2]);
    expect(await asideOf(reactor)).to.deep.equal([]);
  });
});
