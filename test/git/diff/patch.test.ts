import { spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import {
  PatchCounter,
  type PatchLine,
  textLines,
  textLinesIn,
} from "../../../src/git/diff/patch.ts";
import { DiffReader } from "../../../src/git/diff/records.ts";
import { randomNumbers } from "../../support/app/random.ts";
import { temporaryDirectory } from "../../support/git/git.ts";
import { parsePatch } from "../../support/git/patch.ts";

const directory = await temporaryDirectory();

/** What git says of two files. */
async function patchOf(before: string | Buffer, after: string | Buffer): Promise<Buffer> {
  await writeFile(path.join(directory, "before"), before);
  await writeFile(path.join(directory, "after"), after);
  const args = ["diff", "--no-index", "--unified=3", "before", "after"];
  return spawnSync("git", args, { cwd: directory, maxBuffer: 64 * 1024 ** 2 }).stdout;
}

/** The new text as far as it follows from the old text and the lines of the diff. */
function applied(before: Buffer, lines: readonly PatchLine[]): string {
  const old = textLines(before);
  const result: string[] = [];
  let at = 0;
  let ended = true;
  for (const [index, { type, op, body, added, removed }] of lines.entries()) {
    if (type === "separator") continue;
    if (added === null && removed === null) {
      if (lines[index - 1]?.op !== "remove") ended = false;
      continue;
    }
    if (removed !== null) {
      result.push(...old.slice(at, removed - 1));
      expect(old[removed - 1]).to.equal(body);
      at = removed;
    } else {
      // Unchanged lines before an addition are those up to where it stands in the new text.
      while (result.length < (added ?? 0) - 1) result.push(old[at++] ?? "lost");
    }
    if (op !== "remove") {
      expect(result.length).to.equal((added ?? 0) - 1);
      result.push(body);
    }
  }
  const untouched = at < old.length;
  result.push(...old.slice(at));
  if (untouched) ended = before.at(-1) === 0x0a;
  return result.length === 0 ? "" : result.join("\n") + (ended ? "\n" : "");
}

describe("lines of a file", () => {
  it("are the same, wherever a part of them begins", () => {
    for (const text of ["", "\n", "a", "a\n", "a\nb", "\n\na\r\n\xff\n\n", "\xff", "é\n\ufeffb"]) {
      for (const encoding of ["utf8", "latin1"] as const) {
        const content = Buffer.from(text, encoding);
        const all = textLines(content);
        for (const [first, count] of [0, 1, 2, 9].flatMap((at) => [
          [at, 1] as const,
          [at, 99] as const,
        ])) {
          const expected = { lines: all.slice(first, first + count), total: all.length };
          expect(textLinesIn(content, { first, count }), text).to.deep.equal(expected);
        }
      }
    }
  });

  it("take no longer when they are not UTF-8", () => {
    const begun = process.cpuUsage();
    expect(textLines(Buffer.from("\xff\n".repeat(200_000), "latin1"))).to.have.length(200_000);
    expect(process.cpuUsage(begun).user / 1_000).to.be.below(700);
  });
});

describe("a diff as git streams it", () => {
  const nothing = "0".repeat(40);
  const record = (name: string) => `:000000 100644 ${nothing} ${"1".repeat(40)} A\0${name}\0`;
  const patch = (name: string) =>
    `diff --git a/${name} b/${name}\nnew file mode 100644\n--- /dev/null\n+++ b/${name}\n@@ -0,0 +1 @@\n+x\n`;
  const read = (text: string) => {
    const reader = new DiffReader();
    reader.push(Buffer.from(text));
    return reader.end();
  };

  it("has as many patches as records", () => {
    const [change, ...others] = read(`${record("a")}\0${patch("a")}`);
    expect(others).to.deep.equal([]);
    expect(change).to.include({ newPath: "a", addedLines: 1 });
    const more = `${record("a")}\0${patch("a")}${patch("b")}`;
    expect(() => read(more)).to.throw("A patch of no change");
    const fewer = `${record("a")}${record("b")}\0${patch("a")}`;
    expect(() => read(fewer)).to.throw("A change without its patch");
  });
});

describe("the header of a patch", () => {
  it("is kept as far as paths can be long, however long it is", () => {
    const counter = new PatchCounter();
    for (const part of ["diff --git a/", "x".repeat(1024 ** 2), "x".repeat(1024 ** 2), "\n"]) {
      counter.push(Buffer.from(part));
    }
    expect(counter.sections[0]?.headers.map(({ length }) => length)).to.deep.equal([32 * 1024]);
  });
});

describe("the lines of a patch", () => {
  const random = randomNumbers(20_261_121);
  const words = [
    "a",
    "b",
    "",
    "+c",
    "-d",
    " e",
    "@@ -1 +1 @@",
    "diff --git a/x b/x",
    "\\ f",
    "é\r",
  ];
  const text = (): string[] => Array.from({ length: random(60) }, () => words[random(10)] ?? "");
  const joined = (lines: readonly string[]): Buffer =>
    Buffer.from(lines.join("\n") + (lines.length > 0 && random(2) === 0 ? "\n" : ""));
  const edited = (lines: readonly string[]): string[] =>
    lines.flatMap((line) => {
      const dice = random(12);
      if (dice === 0) return [];
      if (dice === 1) return [line, ...text().slice(0, 3)];
      return dice === 2 ? [`${line}!`] : [line];
    });

  it("give the new text when applied to the old, whatever was edited", async () => {
    for (let round = 0; round < 40; round += 1) {
      const lines = text();
      const before = joined(lines);
      const after = joined(edited(lines));
      const parsed = parsePatch(await patchOf(before, after));
      // A text of one empty line without a newline is no text at all.
      expect(applied(before, parsed), `round ${round}`).to.equal(after.toString());
    }
  });

  it("are numbered as in the two files, with separators where lines are left out", async () => {
    const before = Array.from({ length: 30 }, (_, index) => `line ${index + 1}`);
    const after = before.toSpliced(20, 1).with(9, "changed");
    const lines = parsePatch(await patchOf(`${before.join("\n")}\n`, `${after.join("\n")}\n`));

    expect(lines.filter(({ type }) => type === "separator").map(({ body }) => body)).to.deep.equal([
      "@@ -7,7 +7,7 @@ line 6",
      "@@ -18,7 +18,6 @@ line 17",
    ]);
    expect(lines.filter(({ op }) => op !== "none")).to.deep.equal([
      { type: "line", op: "remove", body: "line 10", added: null, removed: 10 },
      { type: "line", op: "add", body: "changed", added: 10, removed: null },
      { type: "line", op: "remove", body: "line 21", added: null, removed: 21 },
    ]);
    expect(lines.at(-1)).to.deep.include({ op: "none", body: "line 24", added: 23, removed: 24 });
  });

  it("begin without a separator when nothing is left out before them", async () => {
    const [first] = parsePatch(await patchOf("a\nb\n", "a\nc\n"));
    expect(first).to.deep.include({ type: "line", body: "a" });
    const whole = parsePatch(await patchOf("", "a\n"));
    expect(whole).to.deep.equal([{ type: "line", op: "add", body: "a", added: 1, removed: null }]);
  });

  it("keep carriage returns, byte order marks and every byte of other encodings", async () => {
    const before = Buffer.from("\ufeffa\r\n\n");
    const after = Buffer.concat([before, Buffer.from([0xe9, 0xff, 0x0a])]);
    const lines = parsePatch(await patchOf(before, after));
    expect(lines.map(({ body }) => body)).to.deep.equal(["\ufeffa\r", "", "\u00e9\u00ff"]);
    expect(Buffer.from(lines[2]?.body ?? "", "latin1")).to.deep.equal(after.subarray(-3, -1));
  });
});

describe("counting a patch", () => {
  it("comes to the same wherever it is cut into pieces", async () => {
    const before = `${"a\n".repeat(20)}--- x\n+++ y\n@@ z\nBinary\n`;
    const patch = await patchOf(before, before.replace("--- x", "++ x").replace("a\n", "b\nc\n"));
    const expected = count([patch]);

    expect(expected).to.have.lengthOf(1);
    expect(expected[0]).to.deep.include({ addedLines: 3, removedLines: 2, isBinary: false });
    expect(expected[0]?.headers.at(-1)).to.equal("+++ b/after");
    for (let size = 1; size < 40; size += 1) {
      const pieces = Array.from({ length: Math.ceil(patch.length / size) }, (_, index) =>
        patch.subarray(index * size, (index + 1) * size),
      );
      expect(count(pieces)).to.deep.equal(expected);
    }
  });

  it("knows binary files", async () => {
    const [section] = count([await patchOf(Buffer.from("a\0"), Buffer.from("b\0"))]);
    expect(section).to.deep.include({ isBinary: true, addedLines: 0, removedLines: 0 });
  });

  it("does not keep what it counts", () => {
    const counter = new PatchCounter();
    counter.push(Buffer.from("diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -0,0 +1,3000000 @@\n"));
    const chunk = Buffer.from("+0123456789abcdef0123456789abcdef0123456789abcdef\n".repeat(1_000));
    const before = process.memoryUsage();
    for (let round = 0; round < 3_000; round += 1) counter.push(chunk);
    const after = process.memoryUsage();

    expect(counter.sections[0]?.addedLines).to.equal(3_000_000);
    expect(counter.sections[0]?.bytes).to.equal(3_000 * chunk.length + 22);
    expect(after.arrayBuffers - before.arrayBuffers).to.be.below(1024 ** 2);
  });

  function count(pieces: readonly Buffer[]) {
    const counter = new PatchCounter();
    for (const piece of pieces) counter.push(piece);
    return counter.sections;
  }
});
