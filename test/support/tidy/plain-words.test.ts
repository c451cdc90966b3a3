import { expect } from "chai";

import { dialectInDocument, dialectInNames, dialectInSource } from "./plain-words.ts";

describe("plain words", () => {
  const words = (text: string) => dialectInSource(text).map((line) => line.split(";")[0]);

  it("are kept in comments of all forms", () => {
    const text = [
      "/** Whoever waits. */",
      "/**",
      " * It gives the place back.",
      " */",
      "const one = 1; // As somebody said.",
    ];
    expect(words(text.join("\n"))).to.deep.equal([
      'line 1: "Whoever"',
      'line 3: "gives the place"',
      'line 5: "somebody"',
    ]);
  });

  it("are kept where a verb stood for a standard term", () => {
    const comment = "// It asks, tells and looks at what a star stands for.";
    expect(words(comment)).to.deep.equal([
      'line 1: "asks"',
      'line 1: "tells"',
      'line 1: "looks at"',
    ]);
  });

  it("are kept in names of tests", () => {
    expect(words('  it("is told of it", () => {})')).to.deep.equal(['line 1: "told"']);
  });

  it("are kept in names of code, in whichever word of them", () => {
    const text = [
      "const { asked } = one; // told",
      "type ToldEvent = Of<typeof isAsked>; `told`",
      'const masked = "asked"; const toldest = 1;',
      "const data = { askedAt: at, lsRefs_told: 1 };",
      "unprovedMax; creationSeats; flightBudget; masks; highlights; provenance;",
    ].join("\n");
    const names = dialectInNames(text).map((each) => each.split(";")[0]);
    const former = ['"asked"', '"ToldEvent"', '"isAsked"', '"lsRefs_told"'];
    const terms = ['"unprovedMax"', '"creationSeats"', '"flightBudget"'];
    expect(names).to.deep.equal([...former, ...terms]);
  });

  it("are not required of texts for users", () => {
    expect(words('const one = "Somebody asked it.";')).to.deep.equal([]);
  });

  it("leave a place alone that is a location", () => {
    expect(words("// In the place where it stood.")).to.deep.equal([]);
  });

  it("are kept in documents", () => {
    expect(dialectInDocument("# Title\n\nIt asked for it.")).to.have.length(1);
  });
});
