// Tests run from compiled files (test/support/compile.mjs); mocha lists and names the sources.
const { execFileSync } = require("node:child_process");
const path = require("node:path");

const { temporaryFilesInMemory } = require("./test/support/memory.cjs");

// Mocha reads this once more in the process that it starts with the options of Node below.
const compiledBy = "LEDGERFORGE_TESTS_COMPILED";
if (process.env[compiledBy] !== __dirname) {
  const script = path.join(__dirname, "test/support/compile.mjs");
  execFileSync(process.execPath, [script], { stdio: "inherit" });
  process.env[compiledBy] = __dirname;
  // Of glibc: with an arena for each thread a process has half as much again, which each start of a program copies.
  process.env.MALLOC_ARENA_MAX ??= "2";
  temporaryFilesInMemory();
}

const support = ["file-suites", "light-workers", "hooks", "global-setup"];

module.exports = {
  // MiB: young objects of a file are collected less often, and most of them are gone by then.
  "node-option": ["enable-source-maps", "min-semi-space-size=32"],
  require: support.map((name) => `.tmp/compiled/test/support/${name}.js`),
  // For a folder: `npx mocha test/events`.
  extension: ["test.ts"],
  recursive: true,
  timeout: 240_000,
  exit: false,
};
