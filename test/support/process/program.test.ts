import path from "node:path";
import { expect } from "chai";

import { notInstalled, skippedLines } from "./program.ts";

describe("tests that need a program which is not installed", () => {
  it("are counted once for each program they need", () => {
    const note = (programs: string[], file: string, tests: number) =>
      JSON.stringify({ reasons: programs.map(notInstalled), file: path.resolve(file), tests });
    const lines = [note(["a", "b"], "test/x.test.ts", 2), note(["b"], "test/y.test.ts", 3)];
    expect(skippedLines(`${lines.join("\n")}\n`)).to.deep.equal([
      "skipped 2 tests: a is not installed (test/x.test.ts)",
      "skipped 5 tests: b is not installed (test/x.test.ts, test/y.test.ts)",
    ]);
    expect(skippedLines("")).to.deep.equal([]);
  });
});
