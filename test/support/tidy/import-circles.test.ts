import { expect } from "chai";

import { importCircles } from "./import-circles.ts";

describe("circles of imports", () => {
  it("are found over several files, with the way around", () => {
    const files = new Map([
      ["src/a.ts", 'import { b } from "./core/b.ts";\n'],
      ["src/core/b.ts", 'import {\n  type C,\n  c,\n} from "./c.ts";\n'],
      ["src/core/c.ts", 'import "../a.ts";\n'],
    ]);

    expect(importCircles(files)).to.deep.equal([
      "src/a.ts → src/core/b.ts → src/core/c.ts → src/a.ts",
    ]);
  });

  it("are found where a file imports only types", () => {
    const files = new Map([
      ["a.ts", 'import { b } from "./b.ts";\n'],
      ["b.ts", 'import type {\n  A,\n} from "./a.ts";\n'],
    ]);

    expect(importCircles(files)).to.deep.equal(["a.ts → b.ts → a.ts"]);
  });

  it("are none by packages, or by two ways to one file", () => {
    const files = new Map([
      ["a.ts", 'import { b } from "./b.ts";\nimport { c } from "./c.ts";\nimport z from "zod";\n'],
      ["b.ts", 'import { c } from "./c.ts";\n'],
      ["c.ts", "export const c = 1;\n"],
    ]);

    expect(importCircles(files)).to.deep.equal([]);
  });
});
