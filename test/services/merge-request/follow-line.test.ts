import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";

import { movedLine } from "../../../src/services/merge-request/follow-line.ts";
import { randomNumbers } from "../../support/app/random.ts";
import { temporaryDirectory } from "../../support/git/git.ts";
import { parsePatch } from "../../support/git/patch.ts";

const directory = await temporaryDirectory();

/** The patch that git makes of two texts. */
function patchOf(before: readonly string[], after: readonly string[]) {
  const [old, now] = ["old", "new"].map((name) => path.join(directory, name));
  writeFileSync(old!, before.map((line) => `${line}\n`).join(""));
  writeFileSync(now!, after.map((line) => `${line}\n`).join(""));
  const args = ["diff", "--no-index", "--no-color", "--", old!, now!];
  try {
    execFileSync("git", args, { cwd: directory, stdio: "pipe" });
    return [];
  } catch (error) {
    return parsePatch((error as { stdout: Buffer }).stdout);
  }
}

describe("following a line through a patch", () => {
  it("finds each line that was kept where it is, in any number of changes", () => {
    const dice = randomNumbers(7);
    for (let round = 0; round < 40; round += 1) {
      const before = Array.from({ length: 40 }, (_, n) => `line ${n}`);
      const after = before.flatMap((text) => {
        const side = dice(10);
        if (side === 0) return [];
        return side === 1 ? [`new ${round} ${text}`, text] : [text];
      });
      const patch = patchOf(before, after);
      for (const [index, text] of before.entries()) {
        const moved = movedLine(patch, index + 1);
        const expected = after.includes(text) ? after.indexOf(text) + 1 : undefined;
        expect(moved, `${text} in round ${round}`).to.equal(expected);
      }
    }
  });
});
