import { randomUUID } from "node:crypto";
import { expect } from "chai";
import pino from "pino";

import type { NewEvent } from "../../src/events/event.ts";
import type { EventStore } from "../../src/platform/event-store.ts";
import type { Job, Queues } from "../../src/platform/queue.ts";
import type { WorkerDeps } from "../../src/workers/deps.ts";
import { type Reactor, runReactors } from "../../src/workers/reactor.ts";
import { readReactorPositions } from "../../src/workers/reactor-checkpoint.ts";
import { testDatabase } from "../support/database.ts";
import { testEventStore } from "../support/event-store.ts";
import { eventually } from "../support/eventually.ts";
import { metadataFor } from "../support/history.ts";

describe("reactors", () => {
  let store: EventStore;
  let deps: WorkerDeps;
  let added: Job[] = [];
  let failing: () => boolean = () => false;
  const log: string[] = [];

  before(async () => {
    const { db } = await testDatabase();
    ({ store } = await testEventStore());
    const queues = {
      async add(jobs: readonly Job[]) {
        if (failing()) throw new Error("the queue is away");
        added.push(...jobs);
      },
    } as Queues;
    const logger = pino({}, { write: (line: string) => log.push(line) });
    deps = { store, db, queues, log: logger } as unknown as WorkerDeps;
  });
  beforeEach(() => {
    added = [];
    failing = () => false;
  });

  /** Each test has event types of its own, because all share one log. */
  function own() {
    const type = `Tested${randomUUID().replaceAll("-", "")}`;
    const reactor: Reactor = {
      name: `reactor-${type}`,
      types: new Set([type]),
      react: async (event) => [{ queue: "q", id: event.id, data: { n: event.data["n"] } }],
    };
    return { type, reactor };
  }

  async function write(type: string, ...numbers: number[]): Promise<bigint> {
    const stream = `tested-${randomUUID()}`;
    const events = numbers.map((n): NewEvent => {
      const id = randomUUID();
      return { id, type, data: { n }, metadata: metadataFor(id) };
    });
    return (await store.append(stream, "none", events)).position;
  }

  async function whileRunning(reactors: readonly Reactor[], run: () => Promise<void>) {
    const stop = new AbortController();
    const running = runReactors(reactors, deps, stop.signal);
    try {
      await run();
    } finally {
      stop.abort();
      await running;
    }
  }

  const numbers = () => added.map(({ data }) => data["n"]);

  it("add a job once for events that come together, and of those that cover each other the last", async () => {
    const once = own();
    const last = own();
    const named = (reactor: Reactor, id: string): Reactor => ({
      ...reactor,
      react: async (event) => [{ queue: "q", id: id || event.id, data: { n: event.data["n"] } }],
    });
    const covering: Reactor = {
      ...last.reactor,
      coveredBy: ({ data }) => String(Number(data["n"]) % 2),
    };
    await write(once.type, ...Array.from({ length: 40 }, (_, n) => n));
    await write(last.type, ...Array.from({ length: 40 }, (_, n) => n));
    await whileRunning([named(once.reactor, "the-same"), covering], async () => {
      const ends = () => numbers().filter((n) => n === 38 || n === 39);
      await eventually(() => ends().length === 3);
    });
    // Some come alone when their line is quicker than the log.
    expect(added.length).to.be.lessThan(40);
  });

  it("add what came before an event they fail at", async () => {
    const { type, reactor } = own();
    let broken = true;
    const failingAt: Reactor = {
      ...reactor,
      async react(event, given) {
        if (broken && event.data["n"] === 3) throw new Error("not yet");
        return reactor.react(event, given);
      },
    };
    await write(type, 1, 2, 3, 4);
    await whileRunning([failingAt], async () => {
      await eventually(() => log.some((line) => line.includes("not yet")));
      expect(numbers()).to.deep.equal([1, 2]);
      broken = false;
      await eventually(() => added.length === 4);
    });
    expect(numbers()).to.deep.equal([1, 2, 3, 4]);
  });

  it("turn what happened before and after they started into jobs, in order", async () => {
    const { type, reactor } = own();
    await write(type, 1, 2);
    await whileRunning([reactor], async () => {
      await eventually(() => added.length === 2);
      await write("SomethingElse", 0);
      await write(type, 3);
      await eventually(() => added.length === 3);
    });
    expect(numbers()).to.deep.equal([1, 2, 3]);
  });

  it("go on where they were", async () => {
    const { type, reactor } = own();
    const position = await write(type, 1);
    await whileRunning([reactor], async () => {
      await eventually(async () => (await positionOf(reactor)) === position);
    });
    await write(type, 2);
    await whileRunning([reactor], async () => {
      await eventually(() => added.length === 2);
    });
    expect(numbers()).to.deep.equal([1, 2]);
  });

  it("add a job before they move on, so a failure in between repeats it", async () => {
    const { type, reactor } = own();
    const position = await write(type, 1, 2);
    let failures = 2;
    failing = () => failures-- > 0;
    await whileRunning([reactor], async () => {
      await eventually(async () => (await positionOf(reactor)) === position);
    });
    expect(numbers()).to.deep.equal([1, 2]);
    expect(log.some((line) => line.includes("the queue is away"))).to.equal(true);
  });

  it("never skip an event they fail at", async () => {
    const { type, reactor } = own();
    await write(type, 1, 2);
    let attempts = 0;
    const poisoned: Reactor = {
      ...reactor,
      react: async () => {
        attempts += 1;
        throw new Error("poison");
      },
    };
    await whileRunning([poisoned], async () => {
      await eventually(() => attempts > 2);
    });
    expect(await positionOf(reactor)).to.equal(-1n);
    expect(added).to.deep.equal([]);
  });

  it("do not hold up one another", async () => {
    const stuck = own();
    const other = own();
    await write(stuck.type, 1);
    const position = await write(other.type, 2);
    const poisoned: Reactor = {
      ...stuck.reactor,
      react: () => Promise.reject(new Error("poison")),
    };
    await whileRunning([poisoned, other.reactor], async () => {
      await eventually(async () => (await positionOf(other.reactor)) === position);
    });
    expect(numbers()).to.deep.equal([2]);
  });

  it("hear the same event each, from one subscription", async () => {
    const { type, reactor } = own();
    const second = { ...reactor, name: `${reactor.name}-second` };
    let subscriptions = 0;
    const counting: WorkerDeps = {
      ...deps,
      store: {
        ...store,
        subscribeAll: (options) => {
          subscriptions += 1;
          return store.subscribeAll(options);
        },
      },
    };
    await write(type, 1);
    const stop = new AbortController();
    const running = runReactors([reactor, second], counting, stop.signal);
    await eventually(() => added.length === 2);
    stop.abort();
    await running;
    expect(numbers()).to.deep.equal([1, 1]);
    expect(subscriptions).to.equal(1);
  });

  async function positionOf({ name }: Reactor): Promise<bigint | undefined> {
    return (await readReactorPositions(deps.db, [name])).get(name);
  }
});
