import { setTimeout as delay } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect } from "chai";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** Below this many milliseconds a measurement says nothing about growth. */
const noiseMs = 40;
/** Eight times the input takes eight times as long; a square of it would take 64 times. */
const growthMax = 24;
/** The first size has nothing to be held against but this. */
const firstMax = 1_000;
const sizes = [1, 2, 4, 8] as const;
/** So often what is over the limit is measured again. */
const turnsMax = 10;
/** Four times the input takes four times as long, and 16 times where time grows with its square. */
const laterGrowthMax = 8;

/**
 * Measures work at 1, 2, 4 and 8 times an input. Fails when the time grows far faster than the input,
 * at the first size that shows it. What is over the limit is measured again, because the machine may
 * have been busy.
 *
 * @param prepare makes the input of a size, outside of what is measured
 * @param work what it throws is an answer as well: parsers refuse most of their inputs
 */
export async function expectLinear<Input>(
  unit: number,
  prepare: (size: number) => Input | Promise<Input>,
  work: (input: Input) => unknown,
): Promise<void> {
  const times: number[] = [];
  for (const factor of sizes) {
    const input = await prepare(unit * factor);
    const [first] = times;
    const allowed =
      first === undefined ? firstMax : Math.max(noiseMs, (growthMax / 8) * factor * first);
    let time = await millisecondsOf(work, input);
    // The others are held against the first, which also compiles the code.
    for (let turn = 0; turn < 4 && first === undefined && time < firstMax; turn += 1) {
      time = Math.min(time, await millisecondsOf(work, input));
    }
    for (let turn = 0; turn < turnsMax && time >= allowed; turn += 1) {
      // What former tests left running ends, and their garbage is collected outside of the measurement.
      await delay(turn * 50);
      collectGarbage();
      time = Math.min(time, await millisecondsOf(work, input));
    }
    times.push(time);
    const isDear = time >= allowed && time < 2 * allowed;
    // A larger input may be dearer once, as when its garbage is collected: then it is linear from there on.
    if (isDear && (await growthFrom(work, prepare, unit * factor, time)) < laterGrowthMax) continue;
    const shown = times.map((ms) => ms.toFixed(1)).join(", ");
    expect(time, `ms at 1, 2, 4, 8 times ${unit}: ${shown}`).to.be.lessThan(allowed);
  }
}

/** How many times as long four times the input takes, at least. */
async function growthFrom<Input>(
  work: (input: Input) => unknown,
  prepare: (size: number) => Input | Promise<Input>,
  size: number,
  time: number,
): Promise<number> {
  const input = await prepare(4 * size);
  let later = Number.POSITIVE_INFINITY;
  for (let turn = 0; turn < 3; turn += 1)
    later = Math.min(later, await millisecondsOf(work, input));
  return later / time;
}

async function millisecondsOf<Input>(
  work: (input: Input) => unknown,
  input: Input,
): Promise<number> {
  // The lesser is nearest to the time of this thread: one counts what others do on the machine, the other
  // what the threads that collect garbage do in this process.
  const start = process.cpuUsage();
  const startedAt = performance.now();
  try {
    await work(input);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
  }
  const wall = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(start);
  return Math.min(wall, (user + system) / 1_000);
}
