import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { expect } from "chai";

import { readZipFile } from "../../../src/platform/zip/zip-file.ts";
import type { ZipSource } from "../../../src/platform/zip/zip-source.ts";
import { zip } from "../../support/git/archive.ts";

/** An archive that counts the bytes that are read of it. */
function sourceOf(archive: Buffer): ZipSource & Readonly<{ counted: { bytes: number } }> {
  const counted = { bytes: 0 };
  const read = async ({ first, last }: Readonly<{ first: number; last: number }>) => {
    const part = archive.subarray(first, last + 1);
    counted.bytes += part.length;
    return Readable.from([part]);
  };
  return { bytes: archive.length, read, counted };
}

const read = async (archive: Buffer, path: string, bytesMax = 100) => {
  const found = await readZipFile(sourceOf(archive), path, bytesMax);
  return "content" in found ? found.content.toString("utf8") : found.problem;
};

describe("a file of a zip archive", () => {
  it("is read by its whole path", async () => {
    const archive = zip([
      ["a.yml", "outer"],
      ["deep/a.yml", "inner"],
    ]);
    expect(await read(archive, "deep/a.yml")).to.equal("inner");
    expect(await read(archive, "eep/a.yml")).to.equal("missing");
    expect(await read(archive, "deep/")).to.equal("missing");
  });

  it("is not read beyond the limit, whatever size the archive claims", async () => {
    const large: [string, string] = ["a.yml", "x".repeat(101)];
    expect(await read(zip([large]), "a.yml", 101)).to.have.length(101);
    expect(await read(zip([large]), "a.yml", 100)).to.equal("too_large");
    expect(await read(zip([large], { claimedBytes: 10 }), "a.yml", 100)).to.equal("unreadable");
  });

  it("is not read when it is a link, or the archive none", async () => {
    const link = zip([["a.yml", "/etc/passwd"]], { mode: 0o120777 });
    expect(await read(link, "a.yml")).to.equal("link");
    expect(await read(Buffer.from("PK no archive"), "a.yml")).to.equal("unreadable");
    expect(await read(zip([["a.yml", "x"]]).subarray(0, 40), "a.yml")).to.equal("unreadable");
  });

  it("is read without the files beside it", async () => {
    const source = sourceOf(
      zip([
        ["a.yml", "x"],
        ["large.bin", randomBytes(4 * 1024 ** 2)],
      ]),
    );
    expect(await readZipFile(source, "a.yml", 100)).to.deep.equal({ content: Buffer.from("x") });
    expect(source.counted.bytes)
      .to.be.below(1024 ** 2)
      .and.below(source.bytes);
  });

  it("fails when the archive cannot be fetched", async () => {
    const error = new Error("The store is not there.");
    const gone = async () => {
      throw error;
    };
    const broken = async () => new Readable({ read: () => undefined }).destroy(error);
    for (const read of [gone, broken]) {
      const source = { ...sourceOf(zip([["a.yml", "x"]])), read };
      const failed: unknown = await readZipFile(source, "a.yml", 100).catch((why) => why);
      expect(failed).to.equal(error);
    }
  });
});
