import { expect } from "chai";

import { compile, problems } from "../support/agent/pipeline-file.ts";

/** Processor time, the best of three. */
async function within(limitMs: number, work: () => Promise<unknown>): Promise<void> {
  let best = Number.POSITIVE_INFINITY;
  for (let turn = 0; turn < 3 && best >= limitMs; turn += 1) {
    const started = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(started);
    best = Math.min(best, (user + system) / 1_000);
  }
  expect(best).to.be.below(limitMs);
}

/** Ten lists, each holding the one before ten times. */
function laughs(levels: number): string {
  const lines = ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]"];
  for (let level = 1; level <= levels; level += 1) {
    const previous = `*a${level - 1}`;
    lines.push(`a${level}: &a${level} [${Array.from({ length: 10 }, () => previous).join(", ")}]`);
  }
  return lines.join("\n");
}

/** With 500 variables that take long to expand. */
const withVariables = (jobs: readonly string[]): string => {
  const variables = Array.from({ length: 500 }, (_, n) => `  V${n}: "${"$E".repeat(300)}"`);
  return ["variables:", '  E: ""', "  A: a", ...variables, ...jobs].join("\n");
};

/** Of 3,000 rules with the same glob. */
function rulesNaming(glob: string): string {
  const rules = Array.from({ length: 100 }, () => `{exists: ["${glob}"]}`).join(", ");
  const jobs = Array.from({ length: 30 }, (_, n) => `j${n}: {script: x, rules: [${rules}]}`);
  return withVariables([...jobs, "end: {script: x}"]);
}

describe("a hostile pipeline file", () => {
  it("does not expand anchors beyond a limit", () =>
    within(2_000, async () => {
      expect((await problems(`job: {script: x}\n${laughs(20)}`))[0]).to.contain(
        "The anchors expand to more than 200000 values.",
      );
      const long = `a: &a ${"x".repeat(100_000)}\nb: [${Array(60).fill("*a").join(", ")}]`;
      expect((await problems(long))[0]).to.contain("more than 4194304 characters");
    }));

  it("does not expand references beyond a limit", () =>
    within(2_000, async () => {
      const file = Array.from({ length: 9 }, (_, n) => {
        const next = `!reference [.j${n + 1}, script]`;
        return `.j${n}: {script: [${Array(10).fill(next).join(", ")}]}`;
      });
      const text = `${file.join("\n")}\n.j9: {script: [x]}\njob: {script: !reference [.j0, script]}`;
      expect((await problems(text))[0]).to.match(/more than|nested/);
    }));

  it("is refused beyond 512 KiB, before anything is parsed", () =>
    within(2_000, async () => {
      expect((await problems("a: b\n".repeat(200_000)))[0]).to.contain("larger than 524288 bytes");
    }));

  it("is not nested without end", async () => {
    for (const text of [
      "[".repeat(100_000),
      "- ".repeat(100_000),
      "? ".repeat(100_000),
      "{a: ".repeat(50_000),
      `a: ${"[".repeat(200)}${"]".repeat(200)}`,
      Array.from({ length: 500 }, (_, n) => `${" ".repeat(n)}a:`).join("\n"),
    ]) {
      expect((await problems(text))[0]).to.contain("nested deeper than 64");
    }
  });

  it("makes no more than 2000 jobs", () =>
    within(20_000, async () => {
      const file = Array.from({ length: 10_000 }, (_, n) => `j${n}: {script: x}`).join("\n");
      expect((await problems(file))[0]).to.contain("more than 2000 jobs");
    }));

  it("has many equal keys in time that grows with their number", () =>
    within(10_000, async () => {
      const keys = Array.from({ length: 50_000 }, (_, n) => `k${n}: 1`).join("\n");
      expect(await problems(keys)).to.have.length(1);
    }));

  it("does not multiply a large template into jobs beyond a limit", async () => {
    const template = `.t: {script: [${"x".repeat(60_000)}]}`;
    const jobs = Array.from({ length: 100 }, (_, n) => `j${n}: {extends: .t}`).join("\n");
    expect((await problems(`${template}\n${jobs}`))[0]).to.contain("4194304 bytes together");
  });

  it("has no job that is too large to be stored", async () => {
    const line = `.a: &a ${"x".repeat(60_000)}`;
    const text = (lines: number) =>
      `${line}\njob: {script: [${Array(lines).fill("*a").join(", ")}]}`;
    expect(await problems(text(9))).to.deep.equal([
      "2:1 job: The job takes more than 524288 bytes.",
    ]);
    expect(await problems(text(8))).to.deep.equal([]);
  });

  it("does not compare paths with globs without end", () =>
    within(30_000, async () => {
      const paths = async () => Array.from({ length: 50_000 }, (_, n) => `dir/${n}/file.txt`);
      const rules = Array.from({ length: 100 }, (_, n) => `{exists: ["**/${n}/gone"]}`).join(", ");
      expect((await problems(`job: {script: x, rules: [${rules}]}`, { paths }))[0]).to.contain(
        "too many paths",
      );
    }));

  it("expands for its rules only the variables that they name", () =>
    within(2_000, async () => {
      const { jobs } = await compile(rulesNaming("$A/gone"));
      expect(jobs.map(({ name }) => name)).to.deep.equal(["end"]);
    }));

  it("expands for resource groups only the variables that they name", () =>
    within(2_000, async () => {
      const job = (_: unknown, n: number) => `j${n}: {script: x, resource_group: $A}`;
      const file = withVariables(Array.from({ length: 200 }, job));
      expect((await problems(file))[0]).to.contain("4194304 bytes together");
    }));

  it("does not expand the variables of its rules without end", () =>
    within(10_000, async () => {
      expect((await problems(rulesNaming("$V0$V1$V2$V3$V4$V5$V6$V7$V8$V9")))[0]).to.contain(
        "name too many and too long variables",
      );
    }));

  it("keeps no glob that variables make longer than one may be", async () => {
    const file = "job: {script: x, rules: [{exists: [$LONG]}]}";
    const given = { files: { $LONG: "" }, outer: { LONG: "x".repeat(1_025) } };
    expect((await compile(file, given)).jobs).to.have.length(1);
  });

  it("may name keys that objects have by themselves", async () => {
    const { jobs } = await compile("constructor: {script: x}\ntoString: {script: y}");
    expect(jobs.map(({ name }) => name)).to.deep.equal(["constructor", "toString"]);
    expect(await problems("__proto__: {script: x}")).to.deep.equal([]);
    expect(await problems("job: {extends: toString, script: x}")).to.have.length(1);
  });

  it("compiles 1000 jobs in the time of a request", () =>
    within(3_000, async () => {
      const file = Array.from({ length: 1_000 }, (_, n) =>
        n === 0 ? "j0: {script: x}" : `j${n}: {script: x, needs: [j${n - 1}]}`,
      ).join("\n");
      expect((await compile(file)).jobs).to.have.length(1_000);
    }));
});
