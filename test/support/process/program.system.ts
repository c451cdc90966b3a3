import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";

import { compiled } from "../compiled.ts";

const helper = compiled("test/support/process/program.ts");
const program = "no-such-program-here";

const files = {
  "whole.test.mjs": `
    import { needsProgram } from ${JSON.stringify(helper)};
    needsProgram(${JSON.stringify(program)});
    before(() => { throw new Error("is not run"); });
    describe("a file", () => { it("is skipped", () => { throw new Error("is not run"); }); });`,
  "part.test.mjs": `
    import { needsProgram } from ${JSON.stringify(helper)};
    describe("a part", () => {
      needsProgram(${JSON.stringify(program)});
      before(() => { throw new Error("is not run"); });
      it("is skipped", () => { throw new Error("is not run"); });
    });
    describe("the rest", () => { it("runs", () => undefined); });`,
};

describe("tests that need a program which is not installed", () => {
  it("are skipped, and the last line of the run names the program and the files", async () => {
    const directory = await mkdtemp(path.join(tmpdir(), "ledgerforge-needs-"));
    for (const [name, text] of Object.entries(files)) {
      await writeFile(path.join(directory, name), text);
    }
    const mocha = path.resolve("node_modules/mocha/bin/mocha.js");
    // A server's address keeps the run from starting one of its own.
    const environment = {
      ...process.env,
      TEST_DATABASE_URL: "postgres://127.0.0.1:1/x",
      TEST_DATABASE_TEMPLATE: "x",
      NO_COLOR: "1",
    };
    const args = [mocha, "--parallel", "--jobs", "2", path.join(directory, "*.test.mjs")];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, {
      env: environment,
      encoding: "utf8",
    });
    await rm(directory, { recursive: true });
    expect(status, stdout + stderr).to.equal(0);
    expect(stdout).to.match(/1 passing[\s\S]*2 pending/);
    const last = stdout.trimEnd().split("\n").at(-1);
    expect(last).to.match(
      new RegExp(`^skipped 2 tests: ${program} is not installed \\(.*part.*whole`),
    );
  }).timeout(120_000);
});
