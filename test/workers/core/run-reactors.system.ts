import { randomUUID } from "node:crypto";
import { expect } from "chai";
import pino from "pino";

import type { NewEvent } from "../../../src/events/core/event.ts";
import type { EventStore } from "../../../src/platform/event-store/event-store.ts";
import { currentRun } from "../../../src/platform/postgres/run.ts";
import type { Job, Queues } from "../../../src/platform/queue/queue.ts";
import type { WorkerDeps } from "../../../src/services/core/deps.ts";
import {
  PositionsLost,
  readReactorPositions,
  saveReactorPositions,
} from "../../../src/services/core/reactor-checkpoint.ts";
import type { Reactor } from "../../../src/workers/core/reactor.ts";
import { runReactors } from "../../../src/workers/core/run-reactors.ts";
import { eventually } from "../../support/app/eventually.ts";
import { metadataFor } from "../../support/app/history.ts";
import { testDatabase } from "../../support/store/database.ts";
import { testEventStore } from "../../support/store/event-store.ts";

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
    const same: Reactor = {
      ...once.reactor,
      react: async ({ data }) => [{ queue: "once", id: "the-same", data: { n: data["n"] } }],
      batchMs: 100,
    };
    const covering: Reactor = {
      ...last.reactor,
      coveredBy: ({ data }) => String(Number(data["n"]) % 2),
      batchMs: 100,
    };
    const count = 40;
    await write(once.type, ...Array.from({ length: count }, (_, n) => n));
    await write(last.type, ...Array.from({ length: count }, (_, n) => n));
    const of = (queue: string) =>
      added.filter((job) => job.queue === queue).map(({ data }) => data["n"]);
    await whileRunning([same, covering], async () => {
      await eventually(() => of("once").includes(39) && of("q").includes(39));
    });
    expect(of("q")).to.include(38);
    // Not all of them may have come within the time.
    expect(of("once").length).to.be.lessThan(count / 2);
    expect(of("q").length).to.be.lessThan(count / 2);
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
    const position = await write(type, 1, 2);
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
    expect(await positionOf(reactor)).to.be.lessThan(Number(position) - 1);
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

  it("pass what is of no interest to them", async () => {
    const { type, reactor } = own();
    await write(type, 1);
    await whileRunning([reactor], async () => {
      const position = await write("SomethingElse", 0);
      await eventually(async () => (await positionOf(reactor)) === position);
    });
    expect(numbers()).to.deep.equal([1]);
  });

  it("do not pass what comes after an event they fail at", async () => {
    const { type, reactor } = own();
    const failingAt: Reactor = { ...reactor, react: () => Promise.reject(new Error("poison")) };
    const other = own();
    const position = await write(type, 1);
    await whileRunning([failingAt, other.reactor], async () => {
      const later = await write("SomethingElse", 0);
      await eventually(async () => (await positionOf(other.reactor)) === later);
    });
    expect(await positionOf(reactor)).to.satisfy((reached: bigint) => reached < position);
  });

  it("say how far they all are in one statement for many events", async () => {
    const reactors = [own(), own(), own()];
    let statements = 0;
    const count = ({ sql }: { sql: string }) => {
      if (sql.includes("into reactor_checkpoint")) statements += 1;
    };
    const startedAt = performance.now();
    deps.db.on("query", count);
    try {
      await whileRunning(
        reactors.map(({ reactor }) => reactor),
        async () => {
          let position = 0n;
          for (let n = 0; n < 20; n += 1) {
            for (const { type } of reactors) position = await write(type, n);
          }
          for (const { reactor } of reactors) {
            await eventually(async () => (await positionOf(reactor)) === position);
          }
        },
      );
    } finally {
      deps.db.off("query", count);
    }
    expect(added).to.have.length(60);
    // One in a quarter of a second, however many events came: the more, the slower the machine.
    const most = Math.max(20, (performance.now() - startedAt) / 200);
    expect(statements).to.be.within(1, most);
  });

  it("say how far they are when they end", async () => {
    const { type, reactor } = own();
    const position = await write(type, 1);
    await whileRunning([reactor], async () => {
      await eventually(() => added.length === 1);
    });
    expect(await positionOf(reactor)).to.equal(position);
  });

  it("never go back to an older position", async () => {
    const { reactor } = own();
    const other = own().reactor;
    const { id: runId } = await currentRun(deps.db);
    await saveReactorPositions(deps.db, new Map([[reactor.name, 7n]]), runId);
    const older = new Map([
      [reactor.name, 5n],
      [other.name, 5n],
    ]);
    await saveReactorPositions(deps.db, older, runId);
    expect([await positionOf(reactor), await positionOf(other)]).to.deep.equal([7n, 5n]);
  });

  it("do not save what they reached before a crash of PostgreSQL, and do it again", async () => {
    const { type, reactor } = own();
    let crashes = 1;
    const crashing: Reactor = {
      ...reactor,
      async react(event, given) {
        // What crash recovery does to an unlogged table.
        if (crashes > 0) await deps.db("postgres_run").delete();
        crashes -= 1;
        return reactor.react(event, given);
      },
    };
    const position = await write(type, 1);
    const stop = new AbortController();
    const ended = await runReactors([crashing], deps, stop.signal).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(ended).to.be.instanceOf(PositionsLost);
    // On the way there, a slow one may have said how far it was.
    expect((await positionOf(reactor))! < position).to.equal(true);
    await whileRunning([crashing], async () => {
      await eventually(async () => (await positionOf(reactor)) === position);
    });
    expect(numbers()).to.deep.equal([1, 1]);
  });

  it("go on while the database is away, and say how far they are when it is back", async () => {
    const { type, reactor } = own();
    let away = false;
    const leaving: Reactor = {
      ...reactor,
      react(event, given) {
        away = true;
        return reactor.react(event, given);
      },
    };
    const raw: WorkerDeps["db"]["raw"] = ((...args: Parameters<WorkerDeps["db"]["raw"]>) =>
      away ? Promise.reject(new Error("the database is away")) : deps.db.raw(...args)) as never;
    const db = new Proxy(deps.db, {
      get: (target, key) => (key === "raw" ? raw : Reflect.get(target, key)),
    });
    const stop = new AbortController();
    const running = runReactors([leaving], { ...deps, db }, stop.signal);
    const position = await write(type, 1);
    await eventually(() => added.length === 1);
    await eventually(() => log.some((line) => line.includes("the database is away")));
    expect((await positionOf(reactor))! < position).to.equal(true);
    away = false;
    await eventually(async () => (await positionOf(reactor)) === position);
    stop.abort();
    await running;
  });

  it("wait for what comes soon after, where nobody waits for them", async () => {
    const { type, reactor } = own();
    const adds: number[] = [];
    const queues = {
      ...deps.queues,
      add: async (jobs: readonly Job[]) => void adds.push(jobs.length),
    };
    const batching = { ...reactor, batchMs: 60_000 };
    const stop = new AbortController();
    const running = runReactors([batching], { ...deps, queues } as WorkerDeps, stop.signal);
    // As many as are taken together end the wait.
    for (let n = 0; n < 5; n += 1) {
      await write(type, ...Array.from({ length: 100 }, (_, index) => index));
    }
    await eventually(() => adds.length === 1);
    stop.abort();
    await running;
    expect(adds).to.deep.equal([500]);
  });

  it("go on one by one where they fail together", async () => {
    const { type, reactor } = own();
    let broken = true;
    const together: Reactor = {
      ...reactor,
      react: async (event, given) => {
        if (broken && event.data["n"] === 3) throw new Error("not the third");
        return reactor.react(event, given);
      },
      reactAll: () => Promise.reject(new Error("not together")),
    };
    await write(type, 1, 2, 3, 4);
    await whileRunning([together], async () => {
      await eventually(() => log.some((line) => line.includes("not the third")));
      expect(numbers()).to.deep.equal([1, 2]);
      broken = false;
      await eventually(() => added.length === 4);
    });
    expect(numbers()).to.deep.equal([1, 2, 3, 4]);
  });

  it("receive each event from one subscription", async () => {
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
