import { execFile } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { expect } from "chai";

import type { NewEvent, Recorded } from "../../src/events/core/event.ts";
import {
  type EventStore,
  StoreUnavailable,
  type SubscriptionItem,
} from "../../src/platform/event-store/event-store.ts";
import { openEventStore } from "../../src/platform/event-store/eventstoredb.ts";
import { eventually } from "../support/app/eventually.ts";
import { collect, newEvent, newStream } from "../support/store/test-event.ts";

const run = promisify(execFile);
const {
  EVENTSTORE_URL: url = "",
  EVENTSTORE_CONTROL: control = "",
  EVENTSTORE_FAULTS: nodes = "1",
} = process.env;

/** Five seconds, and what a machine takes that does other things as well. */
const answerMsMax = 7_000;
const recoveredMsMax = 180_000;
const faultMs = 15_000;

/** The server takes every variable that begins so for an option of its own. */
const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith("EVENTSTORE_")),
);
const operate = (what: string, node: string) =>
  run("sh", ["-c", `${control} ${what} ${node}`], { env: environment });

type Written = Readonly<{ stream: string; events: NewEvent[] }>;

/** Writers that repeat what was not answered, and how long the longest answer took. */
class Writers {
  readonly written: Written[];
  longestMs = 0;
  failures = 0;
  #stopped = false;
  readonly #running: Promise<void>[];

  constructor(
    readonly store: EventStore,
    count: number,
  ) {
    this.written = Array.from({ length: count }, () => ({ stream: newStream(), events: [] }));
    this.#running = this.written.map((each) => this.#write(each));
  }

  async #write({ stream, events }: Written): Promise<void> {
    while (!this.#stopped) {
      const event = newEvent(events.length);
      const expected = events.length === 0 ? "none" : BigInt(events.length - 1);
      await this.#settle(() => this.store.append(stream, expected, [event]));
      events.push(event);
    }
  }

  async #settle(append: () => Promise<unknown>): Promise<void> {
    for (;;) {
      const since = performance.now();
      try {
        await append();
        return;
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        this.failures += 1;
        await delay(200);
      } finally {
        this.longestMs = Math.max(this.longestMs, performance.now() - since);
      }
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#running);
  }
}

describe("the faults of a real server", function () {
  this.timeout(600_000);
  const rows: string[] = [];
  after(() => {
    const head =
      "| fault | longest answer to a write | writes failed | writes again after its end |";
    process.stdout.write(`${[head, "|---|---|---|---|", ...rows].join("\n")}\n`);
  });

  for (const node of nodes.split(",")) {
    for (const [fault, begin, end] of [
      ["is stopped", "stop", "start"],
      ["freezes", "freeze", "thaw"],
    ] as const) {
      it(`loses and doubles nothing when node ${node} ${fault}, and answers each write in time`, async () => {
        const store = openEventStore(url);
        const stop = new AbortController();
        const items: SubscriptionItem[] = [];
        const after = await store.head();
        const following = (async () => {
          for await (const item of store.subscribeAll({ after, signal: stop.signal })) {
            items.push(item);
          }
        })();
        try {
          const writers = new Writers(store, 16);
          await delay(2_000);
          await operate(begin, node);
          await delay(faultMs);
          await operate(end, node);
          const since = performance.now();
          const canWrite = () => store.append(newStream(), "none", [newEvent()]).then(() => true);
          await eventually(() => canWrite().catch(() => false), recoveredMsMax);
          const recoveredMs = performance.now() - since;
          await writers.stop();
          const longest = (writers.longestMs / 1000).toFixed(1);
          const recovered = (recoveredMs / 1000).toFixed(1);
          rows.push(
            `| node ${node} ${fault} | ${longest} s | ${writers.failures} | ${recovered} s |`,
          );
          for (const { stream, events } of writers.written) {
            const stored = await collect(store.readStream(stream));
            expect(stored.map(({ id }) => id)).to.deep.equal(events.map(({ id }) => id));
          }
          const all = writers.written.flatMap(({ events }) => events);
          const given = () => idsOf(items).filter((id) => wanted.has(id));
          const wanted = new Set(all.map(({ id }) => id));
          await eventually(() => given().length >= all.length, recoveredMsMax);
          expect(new Set(given()).size).to.equal(all.length);
          expect(given()).to.have.length(all.length);
          expect(writers.longestMs).to.be.lessThan(answerMsMax);
        } finally {
          stop.abort();
          await following;
          await store.close();
        }
      });
    }
  }
});

const idsOf = (items: readonly SubscriptionItem[]): readonly Recorded["id"][] =>
  items.flatMap((item) => (item.kind === "event" ? [item.event.id] : []));
