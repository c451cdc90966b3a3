import { expect } from "chai";

import { compileTemplate, matchesTemplate } from "../../src/platform/name-template.ts";
import { expectLinear } from "../support/app/growth.ts";

const fits: Readonly<Record<string, readonly string[]>> = {
  main: ["main"],
  "release-*": ["release-", "release-1", "release-1.2"],
  "release/*": ["release/1", "release/"],
  "release/**": ["release/1", "release/1/2", "release/"],
  "*": ["main", "v1", ""],
  "**": ["main", "a/b/c", ""],
  "v?.?": ["v1.2", "v9.x"],
  "*-stable": ["1-stable", "-stable", "a-stable-stable"],
  "**/fix": ["a/fix", "a/b/fix", "/fix"],
  "a***b": ["ab", "a/x/b"],
  "v1.0": ["v1.0"],
  "[ab]+(x)": ["[ab]+(x)"],
  "?": ["ü", "😀", "/"],
};

const doesNotFit: Readonly<Record<string, readonly string[]>> = {
  main: ["Main", "main2", "xmain", ""],
  "release-*": ["release", "release-1/2", "xrelease-1"],
  "release/*": ["release/1/2", "release"],
  "*": ["a/b"],
  "v?": ["v", "v10"],
  "v1.0": ["v1x0"],
  "[ab]": ["a", "b"],
  "*-stable": ["a/b-stable", "stable-1"],
};

describe("name templates", () => {
  for (const [template, names] of Object.entries(fits)) {
    it(`${template} fits ${names.join(", ")}`, () => {
      for (const name of names) expect(matchesTemplate(template, name), name).to.equal(true);
    });
  }

  for (const [template, names] of Object.entries(doesNotFit)) {
    it(`${template} does not fit ${names.join(", ")}`, () => {
      for (const name of names) expect(matchesTemplate(template, name), name).to.equal(false);
    });
  }

  for (const template of ["*a".repeat(127), "**a".repeat(85), "a*?".repeat(85), "*?".repeat(127)]) {
    it(`take time in proportion to the length of a name, also as ${template.slice(0, 9)}…`, () =>
      expectLinear(
        32,
        (length) => `${"a".repeat(length)}b`,
        (name) => matchesTemplate(template, name),
      ));
  }

  it("are prepared and matched fast, as many and as long as a project may have", () => {
    const name = "a".repeat(250);
    // The machine may be busy with other things: the fastest of some turns counts.
    const times = ["a", "b", "c", "d"].map((end) => {
      const begun = performance.now();
      for (let at = 0; at < 100; at += 1) {
        expect(compileTemplate(`${"*a".repeat(120)}${at}${end}`)(name)).to.equal(false);
      }
      return performance.now() - begun;
    });
    expect(Math.min(...times)).to.be.below(300);
  });
});
