import { expect } from "chai";

import { expandOwnText, expandText, expandVariables } from "../../src/pipeline-file/expand.ts";
import { processorMs } from "../support/app/measure.ts";

const none: ReadonlySet<string> = new Set();
const expanded = (variables: Readonly<Record<string, string>>) =>
  Object.fromEntries(expandVariables(new Map(Object.entries(variables)), none));

/** Each variable names the next one four times. */
function chain(length: number, last: string): Record<string, string> {
  const entries = Array.from({ length }, (_, n) => [`V${n}`, `$V${n + 1}`.repeat(4)] as const);
  return Object.fromEntries([...entries, [`V${length}`, last]]);
}

describe("what the service expands by itself", () => {
  const values = new Map(Object.entries({ A: "a", EMPTY: "", B: "%A%$A" }));
  const look = (name: string) => values.get(name);

  for (const [written, expected, kept = expected] of [
    [`$A \${A} %A%`, "a a a"],
    ["-%EMPTY%-$EMPTY-", "---"],
    ["$B %B%", "%A%$A %A%$A"],
    [`$NONE \${NONE} %NONE%`, "  %NONE%", `$NONE \${NONE} %NONE%`],
    ["%C3%A4 100% %% %A %%A%%", "%C3%A4 100% %% %A %%A%%"],
    ["$$A %$A%", "$A %a%"],
  ] as const) {
    it(`is ${expected} for ${written}`, () => {
      expect(expandOwnText(written, look)).to.equal(expected);
      expect(expandOwnText(written, look, { keep: true })).to.equal(kept);
    });
  }

  it("has no percent signs where a shell expands it", () => {
    expect(expandText("%A% $A", look)).to.equal("%A% a");
  });

  it("stays as it is written where it would grow too long", () => {
    const text = "%A%".repeat(1_000);
    expect(expandOwnText(text, () => "x".repeat(1_024))).to.equal(text);
  });
});

describe("variables that name one another", () => {
  it("are expanded after those they name, circles stay as they are written", () => {
    expect(expanded({ A: "a$B", B: "b$C", C: "c$$" })).to.deep.equal({
      ...{ A: "abc$", B: "bc$", C: "c$" },
    });
    expect(expanded({ A: "x$B", B: "y$A" })).to.deep.equal({ A: "xy$A", B: "yxy$A" });
  });

  for (const [what, last] of [
    ["nothing", ""],
    ["an empty value that is written as a variable", "$NONE"],
    ["the first of them", "$V0"],
  ] as const) {
    it(`do not take time that doubles with each, when the last is ${what}`, async () => {
      // Without the cache of expanded values it takes 4^13 look-ups.
      const ms = await processorMs(() => Promise.resolve(expanded(chain(13, last))));
      expect(ms).to.be.below(2_000);
    });
  }

  it("stay as they are written where the text would grow too long", () => {
    const many = "$A".repeat(1_000);
    const long = "x".repeat(64 * 1024);
    let lookups = 0;
    const text = expandText(many, () => {
      lookups += 1;
      return long;
    });
    expect(text).to.equal(many);
    expect(lookups).to.be.below(5);
    expect(expandText("$A$A", () => "x".repeat(32 * 1024))).to.have.length(64 * 1024);
  });
});
