import { expect } from "chai";

import { codeOf } from "./code-of.ts";

describe("the code of a source file", () => {
  const names = (source: string) => codeOf(source).match(/\w+/g) ?? [];

  for (const [what, source] of [
    ["comments", "one; // two\n/* three\n four */ five;"],
    ["texts", `one("two \\" three", 'four "') + five`],
    ["regular expressions", 'one = /two [/"`] three/g, five(/four/);'],
    ["templates", "one = `two $ \\` three`; five;"],
  ] as const) {
    it(`has no ${what}`, () => {
      expect(names(source)).to.deep.equal(["one", "five"]);
    });
  }

  it("has what a template computes, templates within it included", () => {
    const source = "`one #{two({ three })} four #{five(`six #{seven}`)} eight` + nine".replaceAll(
      "#",
      "$",
    );
    expect(names(source)).to.deep.equal(["two", "three", "five", "seven", "nine"]);
  });

  it("has both sides of a division", () => {
    expect(names("one / two + (three) / four")).to.deep.equal(["one", "two", "three", "four"]);
  });
});
