import { writeFile } from "node:fs/promises";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { expect } from "chai";

import { DamagedFile, readLineFile } from "../../../src/cli/backup/line-file.ts";
import { temporaryDirectory } from "../../support/git/git.ts";

describe("a file of lines", () => {
  let directory: string;

  before(async () => {
    directory = await temporaryDirectory();
  });

  async function read(name: string, content: string | Buffer): Promise<readonly string[]> {
    const file = path.join(directory, name);
    await writeFile(file, content);
    const lines: string[] = [];
    for await (const line of readLineFile(file)) lines.push(line);
    return lines;
  }

  it("is read as it was written, also where chunks divide a character", async () => {
    const lines = ["\ufeffé", "", "💥".repeat(200_000), "\u2028"];
    expect(await read("whole", `${lines.join("\n")}\n`)).to.deep.equal(lines);
    expect(await read("whole.gz", gzipSync(lines.join("\n")))).to.deep.equal(lines);
  });

  for (const [what, name, content, why] of [
    ["is not UTF-8", "bytes", Buffer.from("a\nb\xff\n", "latin1"), /is not UTF-8$/],
    ["ends in a character", "end", Buffer.from("a\n\xc3", "latin1"), /is not UTF-8$/],
    ["is cut off", "cut.gz", gzipSync("x".repeat(50)).subarray(0, -9), /inflated \(unexpected end/],
    ["is no gzip", "other.gz", "{}", /inflated \(incorrect header/],
  ] as const) {
    it(`that ${what} is named as damaged`, async () => {
      const error: unknown = await read(name, content).catch((reason: unknown) => reason);
      expect(error).to.be.instanceOf(DamagedFile);
      expect((error as DamagedFile).message)
        .to.match(why)
        .and.include(path.join(directory, name));
    });
  }
});
