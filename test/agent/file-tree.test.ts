import { mkdir, stat, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import { findFiles, makeParents } from "../../src/agent/file-tree.ts";
import { temporaryDirectory } from "../support/git/git.ts";

let root: string;

beforeEach(async () => {
  root = path.join(await temporaryDirectory(), "project");
  await mkdir(path.join(root, "src/deep"), { recursive: true });
  await mkdir(path.join(root, ".git"));
  for (const file of ["a.txt", "src/b.txt", "src/deep/c.log", ".git/config"]) {
    await writeFile(path.join(root, file), file);
  }
  await symlink("..", path.join(root, "src/up"));
});

describe("files of an artifact", () => {
  const found = async (paths: readonly string[], exclude: readonly string[] = []) => {
    const { files, refused } = await findFiles(root, { paths, exclude });
    return { files: files.map((file) => String(file.path)), refused };
  };

  it("are found by globs and directories; links are not followed, and .git is left out", async () => {
    const deep = ["src", "src/b.txt", "src/deep", "src/deep/c.log", "src/up"];
    expect(await found(["src"])).to.deep.equal({ files: deep, refused: [] });
    expect(await found(["."], ["src/deep/*"])).to.deep.equal({
      files: ["a.txt", ...deep.filter((file) => file !== "src/deep/c.log")],
      refused: [],
    });
    expect((await found([`${root}/src/b.txt`])).files).to.deep.equal(["src/b.txt"]);
  });

  it("are found by names that are no UTF-8", async () => {
    const name = Buffer.from(`${root}/src/b\xe4r`, "latin1");
    await writeFile(name, "");
    const also = new Set(["src/b\xe4r", "src/b\xe5r"]);
    const { files } = await findFiles(root, { paths: [], exclude: [], also });
    expect(files.map((file) => file.path.toString("latin1"))).to.deep.equal(["src/b\xe4r"]);
    expect((await found(["src/b?r"])).files).to.have.length(1);
  });

  it("are never outside of the project", async () => {
    const outside = ["..", "../other", "src/../../other", "/etc/passwd"];
    expect(await found(outside)).to.deep.equal({ files: [], refused: outside });
  });
});

describe("the directories above an unpacked file", () => {
  const made = async (name: string) => String(await makeParents(root, Buffer.from(name)));

  it("are made below the project", async () => {
    expect(await made("./new/one/file")).to.equal(path.join(root, "new/one/file"));
    expect((await stat(path.join(root, "new/one"))).isDirectory()).to.equal(true);
  });

  it("are not made outside of it, for no name, or through a link or a file", async () => {
    for (const name of ["../file", "src/../../file", "/file", "a\0b/file", "", ".", "./"]) {
      await expect(made(name), name).to.be.rejectedWith("leads out");
    }
    for (const name of ["src/up/file", "a.txt/file"]) {
      await expect(made(name), name).to.be.rejectedWith("through a link or a file");
    }
  });
});
