import { setImmediate } from "node:timers/promises";
import pino from "pino";

import { asOperation, isSuspended } from "../../../src/platform/event-loop/operation.ts";
import { watchEventLoop } from "../../../src/platform/event-loop/watch.ts";

/** What a test has this program do, and what it answers unless that ends it. */
export type Order = Readonly<{
  name: string;
  caller: string;
  /** How the loop stands still, after other code has run; in no operation where the name is empty. */
  how: "computes" | "waits" | "not" | "computes after its end";
  /** Another operation that begins while this one waits. */
  beside?: string;
}>;
export type Answer = Readonly<{ suspended: boolean }>;

/** Run as a program of its own, because it is killed. Arguments: the limit in seconds, and a directory. */
const [seconds = "", dataDir = ""] = process.argv.slice(2);
const log = pino({ level: "info" });
watchEventLoop({ stallSeconds: Number(seconds), dataDir, role: "test", log });

const waitMs = 60_000;

function standStill(how: Order["how"]): void {
  if (how === "not") return;
  const cell = new Int32Array(new SharedArrayBuffer(4));
  const until = performance.now() + waitMs;
  if (how === "waits") Atomics.wait(cell, 0, 0, waitMs);
  else while (performance.now() < until) Atomics.add(cell, 0, 1);
}

async function obey({ name, caller, how, beside }: Order): Promise<void> {
  const run = async (): Promise<void> => {
    await setImmediate();
    await setImmediate();
    if (how === "computes after its end") setTimeout(() => standStill(how), 1);
    else standStill(how);
  };
  const other = async (): Promise<void> => {
    for (let turns = 0; turns < 10; turns += 1) await setImmediate();
  };
  const running = { name, caller };
  const answer: Answer = { suspended: isSuspended(running) };
  const first = name === "" ? run() : asOperation(running, run);
  await Promise.all([first, beside && asOperation({ name: beside, caller }, other)]);
  process.send?.(answer);
}

process.on("message", (order: Order) => void obey(order));
process.send?.("ready");
