import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect } from "chai";

import { idleCollector } from "../../src/embedded/idle-memory.ts";
import { compiled } from "../support/compiled.ts";

describe("the memory of an idle process", () => {
  /** How often the heap is collected while the event loop is so busy at each look. */
  function collections(utilizations: readonly number[]): number[] {
    const collected: number[] = [];
    let look = 0;
    const check = idleCollector({
      collect: () => collected.push(look),
      utilization: () => utilizations[look] ?? 0,
    });
    for (; look < utilizations.length; look += 1) check();
    return collected;
  }

  it("collects the heap twice after the start and not again while the process is idle", () => {
    expect(collections([0, 0.01, 0, 0, 0.04])).to.deep.equal([0, 1]);
  });

  it("collects nothing while the process works", () => {
    expect(collections([0.05, 0.5, 1])).to.deep.equal([]);
  });

  it("collects the heap twice after each time of work", () => {
    expect(collections([0.2, 0, 0, 0, 0.1, 0, 0, 0])).to.deep.equal([1, 2, 5, 6]);
  });

  it("does not keep a process alive that has nothing else to do", async () => {
    const code = `import("${compiled("src/embedded/idle-memory.ts")}").then((m) => m.releaseIdleMemory())`;
    const flags = ["--expose-gc", "--eval", code];
    const [exitCode] = await once(spawn(process.execPath, flags), "exit");
    expect(exitCode).to.equal(0);
  });
});
