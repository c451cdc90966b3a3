import { expect } from "chai";

import { leastOf, processorMs } from "./support/app/measure.ts";
import { superLinear, withCounts } from "./support/syntax/linear.ts";
import {
  exceptions,
  isException,
  madeElsewhere,
  recorded,
} from "./support/syntax/linear-record.ts";
import { pumped } from "./support/syntax/pump.ts";
import { expressionsIn } from "./support/syntax/regular-expression.ts";
import { parsedSources } from "./support/syntax/source.ts";

/** What a single text may cost where no detector says that it costs little. */
const timeMsMax = 5;
const howTo = "npm run linear-expressions records those that are linear";

describe("regular expressions of src", () => {
  const sources = parsedSources();
  const found = expressionsIn(sources);
  const patterns = new Set(found.flatMap((expression) => expression.patterns));

  it("are all found", () => {
    expect(found.length).to.be.greaterThan(500);
    expect(found.filter(({ code }) => code.startsWith("new ")).length).to.be.greaterThan(40);
  });

  it(`take time in proportion to their text: ${howTo}`, async () => {
    const known = await recorded();
    const refused: string[] = [];
    for (const pattern of patterns) {
      if (known.has(pattern) || isException(pattern)) continue;
      const { place } = found.find((expression) => expression.patterns.includes(pattern))!;
      refused.push(`${place}: ${pattern} ${(await superLinear(pattern)) ?? "is not recorded"}`);
    }
    expect(refused).to.deep.equal([]);
  });

  it(`are recorded only while they are there: ${howTo}`, async () => {
    const stale = [...(await recorded())].filter((pattern) => !patterns.has(pattern));
    expect(stale).to.deep.equal([]);
  });

  it("are made of constants, or listed with a reason", () => {
    const made = found.filter((expression) => expression.patterns.length === 0);
    expect(made.map(({ code }) => code).sort()).to.deep.equal(Object.keys(madeElsewhere).sort());
  });

  for (const { pattern, bound, lengthMax } of exceptions) {
    it(`have a text of limited length where they are not analysed: ${pattern}`, () => {
      expect(patterns.has(String(pattern))).to.equal(true);
      expect(sources.get(bound.file)?.text).to.include(bound.code);
    });

    it(`take at most ${timeMsMax} ms for the longest text: ${pattern}`, async () => {
      const slow: string[] = [];
      for (const text of pumped(pattern.source, lengthMax)) {
        const time = async () => await processorMs(() => text.replace(pattern, ""));
        if ((await time()) < timeMsMax || (await leastOf(5, time)) < timeMsMax) continue;
        slow.push(text.slice(0, 10));
      }
      expect(slow).to.deep.equal([]);
    });
  }
});

describe("the detector of super-linear expressions", () => {
  for (const pattern of [
    "/\\/+$/",
    "/\\r+$/",
    "/-[^+]*\\.|\\+/",
    "/\\b([a-z][a-z0-9+.-]*:\\/\\/[^\\s:/@]*):[^\\s@/]+@/gi",
    "/^(?:a|a)*[^]{0,20}$/",
    "/(?:a{0,1000}){0,1000}b/",
    "/(?<!a)b+c/",
  ]) {
    it(`refuses ${pattern}`, async () => {
      expect(await superLinear(pattern)).to.be.a("string");
    });
  }

  for (const pattern of ["/^[a-z]{1,255}$/", "/^\\/+/", '/"[^"]*"/', "/[^,]+/g"]) {
    it(`takes ${pattern}`, async () => expect(await superLinear(pattern)).to.equal(undefined));
  }

  it("reads counts of repetitions outside of sets and escapes alone", () => {
    const source = "a{20}[{20}]\\{20}b{3,40}c{2}d{99,}";
    expect(withCounts(source, "any")).to.equal("a+[{20}]\\{20}b+c{2}d+");
    expect(withCounts(source, "few")).to.equal("a{3,3}[{20}]\\{20}b{3,3}c{2}d{3,}");
  });
});
