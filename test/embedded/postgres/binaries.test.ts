import { mkdir, mkdtemp, readlink, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";

import { createSymlinks, locateBinaries } from "../../../src/embedded/postgres/binaries.ts";

describe("the binaries of PostgreSQL", () => {
  let root: string;
  before(async () => {
    root = await mkdtemp(path.join(tmpdir(), "lf-bin-"));
    await mkdir(path.join(root, "native", "lib"), { recursive: true });
    await writeFile(path.join(root, "native", "lib", "libpq.so.5.18"), "");
    const link = { source: "native/lib/libpq.so.5.18", target: "native/lib/libpq.so.5" };
    await writeFile(path.join(root, "native", "pg-symlinks.json"), JSON.stringify([link]));
  });
  after(() => rm(root, { recursive: true, force: true }));

  it("are installed for this machine", async () => {
    for (const file of Object.values(await locateBinaries())) {
      expect((await stat(file)).mode & 0o111).to.not.equal(0);
    }
  });

  it("get the links that an install without scripts left out, also when two start at once", async () => {
    await Promise.all([createSymlinks(root, "test"), createSymlinks(root, "test")]);
    expect(await readlink(path.join(root, "native/lib/libpq.so.5"))).to.equal("libpq.so.5.18");

    await createSymlinks(root, "test");
  });
});
