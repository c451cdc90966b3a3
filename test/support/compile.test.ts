import { execFileSync } from "node:child_process";
import {
  copyFile,
  mkdir,
  readdir,
  readFile,
  rm,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import { temporaryDirectory } from "./git/git.ts";

describe("compiling for tests", () => {
  let root: string;
  const file = (...names: string[]) => path.join(root, ...names);
  const outdir = () => file(".tmp", "compiled");
  const compile = () => execFileSync(process.execPath, [file("test", "support", "compile.mjs")]);
  const compiledFiles = async () =>
    (await readdir(outdir(), { recursive: true })).filter((name) => name.endsWith("js")).sort();

  before(async () => {
    root = await temporaryDirectory();
    await mkdir(file("src"));
    await mkdir(file("test", "support"), { recursive: true });
    await symlink(path.resolve("node_modules"), file("node_modules"));
    await writeFile(file("package.json"), JSON.stringify({ type: "module" }));
    for (const name of ["compile.mjs", "endings.cjs"]) {
      const part = path.join("test", "support", name);
      await copyFile(part, file(part));
    }
    await writeFile(file("src", "one.ts"), "export const one: number = 1;\n");
    const two = 'import { one } from "../src/one.ts";\nexport const two: number = one + 1;\n';
    await writeFile(file("test", "two.ts"), two);
    compile();
  });

  it("makes files that import each other", async () => {
    expect(await compiledFiles()).to.deep.equal(["src/one.js", "test/two.js"]);
    const { two } = (await import(path.join(outdir(), "test/two.js"))) as { two: number };
    expect(two).to.equal(2);
  });

  it("makes modules by their ending of files with tests", async () => {
    for (const kind of ["test", "check"]) {
      await writeFile(file("test", `a.${kind}.ts`), "export const tests: number = 1;\n");
    }
    compile();
    expect(await compiledFiles()).to.include.members(["test/a.test.mjs", "test/a.check.mjs"]);
    for (const kind of ["test", "check"]) await rm(file("test", `a.${kind}.ts`));
    compile();
    expect(await compiledFiles()).to.deep.equal(["src/one.js", "test/two.js"]);
  });

  it("compiles a changed file again, and leaves the others", async () => {
    await writeFile(path.join(outdir(), "test/two.js"), "untouched");
    const time = new Date("2026-01-02T03:04:05.678Z");
    await utimes(file("test", "two.ts"), time, time);
    await utimes(path.join(outdir(), "test/two.js"), time, time);
    await writeFile(file("src", "one.ts"), "export const one: number = 5;\n");
    await utimes(file("src", "one.ts"), time, time);
    compile();
    expect(await readFile(path.join(outdir(), "src/one.js"), "utf8")).to.contain("5");
    expect(await readFile(path.join(outdir(), "test/two.js"), "utf8")).to.equal("untouched");
  });

  it("drops what was compiled from a file that is gone", async () => {
    await rm(file("src", "one.ts"));
    compile();
    expect(await compiledFiles()).to.deep.equal(["test/two.js"]);
  });

  it("keeps the lines of the sources in stack traces", async () => {
    const { stack } = new Error("here");
    const lines = (await readFile("test/support/compile.test.ts", "utf8")).split("\n");
    const line = 1 + lines.findIndex((text) => text.includes('new Error("here")'));
    expect(stack).to.include(`test/support/compile.test.ts:${line}:`);
  });
});
