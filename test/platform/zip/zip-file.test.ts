import { expect } from "chai";

import { readZipFile } from "../../../src/platform/zip/zip-file.ts";
import { zip } from "../../support/archive.ts";

const read = async (archive: Buffer, path: string, bytesMax = 100) =>
  (await readZipFile(archive, path, bytesMax))?.toString("utf8");

describe("a file of a zip archive", () => {
  it("is read by its whole path", async () => {
    const archive = zip([
      ["a.yml", "outer"],
      ["deep/a.yml", "inner"],
    ]);
    expect(await read(archive, "deep/a.yml")).to.equal("inner");
    expect(await read(archive, "eep/a.yml")).to.equal(undefined);
    expect(await read(archive, "deep/")).to.equal(undefined);
  });

  it("is not read beyond the limit, whatever size the archive claims", async () => {
    const large: [string, string] = ["a.yml", "x".repeat(101)];
    expect(await read(zip([large]), "a.yml", 101)).to.have.length(101);
    expect(await read(zip([large]), "a.yml", 100)).to.equal(undefined);
    expect(await read(zip([large], { claimedBytes: 10 }), "a.yml", 100)).to.equal(undefined);
  });

  it("is not read when it is a link, or the archive none", async () => {
    const link = zip([["a.yml", "/etc/passwd"]], { mode: 0o120777 });
    expect(await read(link, "a.yml")).to.equal(undefined);
    expect(await read(Buffer.from("PK no archive"), "a.yml")).to.equal(undefined);
    expect(await read(zip([["a.yml", "x"]]).subarray(0, 40), "a.yml")).to.equal(undefined);
  });
});
