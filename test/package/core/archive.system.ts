import { gzipSync } from "node:zlib";
import { expect } from "chai";

import { readTarEntry } from "../../../src/package/core/tarball.ts";
import { refused } from "../../support/app/refused.ts";
import { filesOf, tar, tgz } from "../../support/git/archive.ts";

const wanted = { path: /^(?:[^/]+\/)?note\.txt$/, name: "note.txt" };
const malformed = "package.file_malformed";
const fileOf = await filesOf();

describe("a tar archive", () => {
  it("is refused when it has more than 100,000 files", async () => {
    const many = tgz(Array.from({ length: 100_001 }, (_, n) => [`a/${n}`, ""] as const));
    await refused(
      async () => readTarEntry(await fileOf(many), wanted),
      malformed,
      "at most 100000 files",
    );
  });

  it("is refused when it unpacks to a thousand times itself, in little memory", async () => {
    const zeros = gzipSync(Buffer.alloc(64 * 1024 ** 2));
    const bomb = Buffer.concat([gzipSync(tar([["a/x", "x"]])), zeros, zeros, zeros, zeros]);
    const file = await fileOf(bomb);
    const before = process.memoryUsage().rss;
    const read = () => readTarEntry(file, wanted, 200 * 1024 ** 2);
    await refused(read, malformed, "unpacks to more than 209715200 bytes");
    expect(process.memoryUsage().rss - before).to.be.lessThan(100 * 1024 ** 2);
  });
});
