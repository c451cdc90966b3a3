import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { availableParallelism, getPriority } from "node:os";
import { expect } from "chai";

import { shareProcessors, yieldProcessor } from "../../src/git/priority.ts";
import { eventually } from "../support/app/eventually.ts";

const children: ChildProcess[] = [];
const own = getPriority();
const half = Math.ceil(availableParallelism() / 2);

function program(give: (child: ChildProcess) => void): ChildProcess {
  const child = spawn("sleep", ["60"], { stdio: "ignore" });
  children.push(child);
  give(child);
  return child;
}

const priorityOf = ({ pid = 0 }: ChildProcess): number => getPriority(pid);

after(() => children.forEach((child) => void child.kill("SIGKILL")));

describe("the processors", () => {
  it("are for packs as for all else while one is left, and for a crowd of them only then", async () => {
    // What other tests of this process have started may still be about to end.
    let first = program(shareProcessors);
    await eventually(async () => {
      if (priorityOf(first) === own) return true;
      first.kill("SIGKILL");
      await once(first, "close");
      first = program(shareProcessors);
      return false;
    });
    const more = Array.from({ length: half + 1 }, () => program(shareProcessors));
    const expected = more.map((_, index) => (index < half - 1 ? own : 19));
    expect(more.map(priorityOf)).to.deep.equal(expected);

    for (const child of [first, ...more]) child.kill("SIGKILL");
    await Promise.all([first, ...more].map((child) => once(child, "close")));
    expect(priorityOf(program(shareProcessors))).to.equal(own);
  });

  it("are left to others by what nobody waits for", () => {
    expect(priorityOf(program(yieldProcessor))).to.equal(10);
  });
});
