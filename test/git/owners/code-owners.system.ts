import { expect } from "chai";

import { parseCodeOwners } from "../../../src/git/owners/code-owners.ts";
import { findOwners } from "../../../src/git/owners/owner-demand.ts";
import { compileSection, decidingEntry } from "../../../src/git/owners/owner-match.ts";

describe("a CODEOWNERS file", () => {
  it("is parsed and matched in time that grows with its size alone", () => {
    const lines = Array.from(
      { length: 10_000 },
      (_, n) => `/dir${n % 100}/**/file-${n}*.txt @user${n}`,
    );
    const text = lines.join("\n").padEnd(1024 ** 2, "\n# filler");
    const cpuMs = () => process.cpuUsage().user / 1_000;
    const started = cpuMs();
    const [section] = parseCodeOwners(text);
    const matcher = compileSection(section!);
    const budget = { steps: 50_000_000 };
    for (let n = 0; n < 1_000; n += 1) {
      const entry = decidingEntry(matcher, [`dir${n % 100}`, "x", `file-${n}.txt`], budget);
      expect(entry?.owners).to.deep.equal([`@user${n}`]);
    }
    expect(cpuMs() - started).to.be.lessThan(5_000);
    const hostile = `${"[".repeat(500_000)} @x\n/${"*a".repeat(200_000)}b @x\n${"a/**/".repeat(50_000)}b @y`;
    const path = `${"a".repeat(250)}/`.repeat(15).split("/");
    for (const one of parseCodeOwners(hostile)) {
      decidingEntry(compileSection(one), path, { steps: 1_000_000 });
    }
    expect(cpuMs() - started).to.be.lessThan(10_000);
  });

  for (const [where, pattern] of [
    ["directories", "/src/x{}/"],
    ["names", "x{}.txt"],
    ["paths", "/src/x{}/x{}.txt"],
  ] as const) {
    it(`compares a file with the patterns alone whose literal ${where} it has`, () => {
      const filled = (n: number) => pattern.replaceAll("{}", String(n));
      const text = Array.from({ length: 10_000 }, (_, n) => `${filled(n)} @user${n}`).join("\n");
      const paths = Array.from({ length: 1_000 }, (_, n) => `src/x${n}/x${n}.txt`);
      const question = { textId: where, text, paths };
      // Ten thousand patterns for a thousand files are ten million comparisons.
      expect(findOwners({ ...question, stepsMax: 50_000 })).to.have.length(1_000);
      expect(findOwners({ ...question, stepsMax: 500 })).to.equal("too many steps");
    });
  }

  it("pays for what a pattern reads", () => {
    const cpuMs = () => process.cpuUsage().user / 1_000;
    const started = cpuMs();
    const name = "a".repeat(250);
    const hostile = [`*${"a".repeat(120)}b`, `*[${"b".repeat(100_000)}]`, "*".repeat(100_000)];
    const repeated = Array.from({ length: 10_000 }, () => "* @x").join("\n");
    for (const text of [...hostile.map((pattern) => `${pattern} @x`), repeated]) {
      const paths = Array.from({ length: 20_000 }, (_, n) => `${name}/${n}/${name}`);
      findOwners({ textId: text, text, paths, stepsMax: 200_000 });
    }
    expect(cpuMs() - started).to.be.lessThan(4_000);
  });
});
