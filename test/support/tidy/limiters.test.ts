import { expect } from "chai";

import { limitersIn } from "./limiters.ts";

describe("limiters that are no Limit", () => {
  const waiting = "const free = () => new Promise<void>((resolve) => waiting.push(resolve));";
  for (const [what, source] of [
    ["a count", "let open = 0;\nopen += 1;\ntry { run(); } finally { open -= 1; }"],
    ["a count in a field", "this.#taken++;\nrun();\n--this.#taken;"],
    ["counts by key", "map.set(a, (map.get(a) ?? 0) + 1);\nmap.set(a, (map.get(a) ?? 1) - 1);"],
    ["a set of holders", "if (held.size >= heldMax) throw busy();\nheld.delete(one);"],
    ["a queue of resolvers", waiting],
    ["a queue of objects with them", "new Promise((start) => this.#jobs.push({ caller, start }))"],
    ["a class", "export class UploadSlots {}"],
    ["a package", 'import limit from "p-limit";'],
  ] as const) {
    it(`are found as ${what}`, () => {
      expect(limitersIn(source)).to.have.lengthOf(1);
    });
  }

  it("are not comments, texts, counts that only grow, or uses of Limit", () => {
    const source = [
      "// class Slots; open += 1; open -= 1",
      "seen += 1;",
      "if (list.length > 0) list.splice(0);",
      'const slots = new Limit({ name: "class Slots", total: 2, whenFull: "wait" });',
      "await new Promise((resolve) => setTimeout(resolve, 1));",
    ];
    expect(limitersIn(source.join("\n"))).to.deep.equal([]);
  });
});
