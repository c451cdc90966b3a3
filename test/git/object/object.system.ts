import { expect } from "chai";

import { parseCommit, parseTree, subjectOf } from "../../../src/git/object/object.ts";
import { expectLinear } from "../../support/app/growth.ts";
import { turnsWhile } from "../../support/app/longest-turn.ts";

const tree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const person = "Anna <anna@example.test> 1700000000 +0130";
const lines = [`tree ${tree}`, `author ${person}`, `committer ${person}`];
const commitText = (lines: readonly string[], message: string): Buffer =>
  Buffer.from(`${lines.join("\n")}\n\n${message}`);

describe("a commit object", () => {
  it("is read in a time that grows with its signature", () =>
    expectLinear(
      400_000,
      (bytes) => commitText([...lines, `gpgsig ${"x\n ".repeat(bytes / 3)}`, "encoding x"], "m"),
      (data) => parseCommit("id", data),
    ));

  it("may hold any number of unknown headers", () =>
    expectLinear(
      60_000,
      (count) => {
        const headers = Array.from({ length: count }, (_, index) => `x${index} y`);
        return commitText([...lines, ...headers, "encoding latin1"], "m");
      },
      (data) => expect(parseCommit("id", data)).to.include({ message: "m", treeId: tree }),
    ));
});

describe("a tree object", () => {
  it("lets other requests go on while its million entries are read", async () => {
    const entry = Buffer.concat([Buffer.from("100644 a\0"), Buffer.alloc(20)]);
    const data = Buffer.concat(Array<Buffer>(400_000).fill(entry));
    const { turns } = await turnsWhile(() => parseTree(data, 20));
    expect(turns).to.be.greaterThan(5);
  });
});

describe("the subject of a message", () => {
  it("is found in one pass, whatever runs of space the message is made of", () =>
    expectLinear(
      32_000,
      (length) => " ".repeat(length),
      (run) => expect(subjectOf(`a${run}b\n${run}\nc`)).to.equal(`a${run}b`),
    ));
});
