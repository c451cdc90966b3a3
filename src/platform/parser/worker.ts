import path from "node:path";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";

import { isBuilt, programRoot } from "../installation.ts";
import { Refusal } from "../refusal.ts";
import type { FromParser, ToParser } from "./message.ts";

/** What the module of a task exports as `run`. */
type Run = (question: unknown, requestReply: (wanted: unknown) => Promise<unknown>) => unknown;

const replies = new Map<number, (reply: unknown) => void>();
let requests = 0;

const send = (message: FromParser): Promise<void> =>
  new Promise((resolve) => process.send?.(message, undefined, {}, () => resolve()));

function requestReply(wanted: unknown): Promise<unknown> {
  requests += 1;
  const request = requests;
  return new Promise((resolve) => {
    replies.set(request, resolve);
    void send({ kind: "request", request, wanted });
  });
}

process.on("disconnect", () => process.exit());
process.on("message", (message: ToParser) => {
  if (message.kind === "run") {
    void run(message.module, message.question);
    return;
  }
  replies.get(message.request)?.(message.reply);
  replies.delete(message.request);
});

/** Program of a process that runs one task after another, each from a module of its own. */
async function run(name: string, question: unknown): Promise<void> {
  replies.clear();
  try {
    const file = path.join(programRoot, `src/${name}.${isBuilt ? "js" : "ts"}`);
    const module = (await import(pathToFileURL(file).href)) as Readonly<{ run: Run }>;
    await send({ kind: "begun" });
    await send({ kind: "done", answer: await module.run(question, requestReply) });
  } catch (error) {
    if (error instanceof Refusal) {
      const { kind, code, message, details } = error;
      await send({ kind: "refused", refusal: { kind, code, message, details } });
    } else {
      const reason = error instanceof Error ? String(error.stack) : String(error);
      await send({ kind: "failed", reason });
    }
  }
}

// A task that never returns would outlive a service that was killed: only a thread notices it.
const watch = `
  setInterval(() => {
    if (process.ppid !== ${Number(process.argv[2])}) process.kill(process.pid, "SIGKILL");
  }, 1_000);`;
new Worker(watch, { eval: true, env: {}, resourceLimits: { maxOldGenerationSizeMb: 8 } }).unref();
