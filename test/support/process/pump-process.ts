import { readFileSync, writeSync } from "node:fs";

import { compiled } from "../compiled.ts";
import type { Argument, Parser } from "../syntax/parser.ts";
import { repeated } from "../syntax/pump.ts";
import type { PumpJob, PumpReport } from "./pump.ts";

// Run as a program of its own, which may do nothing but read files: calls parsers with pumped texts, and reports each
// that it begins with and the first text that takes too long. Standard input: the jobs. Standard output: a report a
// line, few enough that the pipe is never full.
const jobs = JSON.parse(readFileSync(0, "utf8")) as readonly PumpJob[];
const report = (line: PumpReport) => writeSync(1, `${JSON.stringify(line)}\n`);
// What a parser starts and leaves is no concern here.
process.on("unhandledRejection", () => undefined);
process.on("uncaughtException", () => undefined);

/** Shorter ones as well: a parser may refuse or cut longer ones, and exponential work shows in them. */
const lengthMax = 20_000;
const lengths = [250, 2_000, 9_500, lengthMax];
/** What a parser may take for a short text, since it is compiled meanwhile. */
const timeMsLeast = 10;

for (const [job, { parser, pieces, timeMsMax }] of jobs.entries()) {
  report({ job });
  const read = await readerOf(parser);
  for (const piece of pieces) {
    const slow = slowLength(read, piece, timeMsMax);
    if (slow === undefined) continue;
    report({ job, slow: { piece, ...slow } });
    break;
  }
}
report({ job: jobs.length });
process.exit();

function slowLength(read: (text: string) => void, piece: string, timeMsMax: number) {
  for (const length of piece.length === 1 ? lengths : lengths.slice(-1)) {
    const text = repeated(piece, length);
    const allowed = Math.max(timeMsLeast, (timeMsMax * length) / lengthMax);
    // Another character at the end keeps what looks for the end from finding it.
    for (const each of [`${text}\0`, text]) {
      const timeMs = leastTimeOf(() => read(each), allowed);
      if (timeMs >= allowed) return { length, timeMs };
    }
  }
  return undefined;
}

/** The least of three, of processor time: at once where the clock shows less. */
function leastTimeOf(work: () => void, timeMsMax: number): number {
  let least = Number.POSITIVE_INFINITY;
  for (let turn = 0; turn < 3 && least >= timeMsMax; turn += 1) {
    const before = process.cpuUsage();
    const start = performance.now();
    try {
      work();
    } catch {
      // Most texts are refused.
    }
    const clock = performance.now() - start;
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, clock, (user + system) / 1_000);
  }
  return least;
}

async function readerOf({ file, name, method, args, returned }: Parser) {
  const found = ((await import(compiled(file))) as Record<string, unknown>)[name];
  const made = found as ((...given: unknown[]) => unknown) & (new () => Record<string, unknown>);
  return (text: string): void => {
    const given = valuesOf(args, text);
    if (method !== undefined) {
      const one = new made();
      consume((one[method] as (...given: unknown[]) => unknown).apply(one, given));
      return;
    }
    const answer = made(...given);
    if (returned === undefined) consume(answer);
    else consume((answer as (...given: unknown[]) => unknown)(...valuesOf(returned, text)));
  };
}

function consume(answer: unknown): void {
  const isIterator = typeof answer === "object" && answer !== null && "next" in answer;
  if (isIterator) for (const _ of answer as Iterator<unknown> & Iterable<unknown>);
}

function valuesOf(args: readonly Argument[], text: string): unknown[] {
  return args.map((argument) => {
    if (argument === "text") return text;
    if (argument === "bytes") return Buffer.from(text);
    if (argument === "number") return 1_000;
    if (argument === "word") return "a";
    if (argument === "date") return new Date(0);
    return argument === "list" ? ["a"] : undefined;
  });
}
