// Tests run from compiled files (test/support/compile.mjs). Sources are named on the command line: `spec` adds the
// compiled file of each, and `ignore` leaves the source out.
const { execFileSync } = require("node:child_process");
const path = require("node:path");

const { compiledName, kinds } = require("./test/support/endings.cjs");
const { temporaryFilesInMemory } = require("./test/support/memory.cjs");

const compiled = ".tmp/compiled";
const sourceOf = /^(?:\.\/)?(test(?:\/.*)?)$/;

/** The compiled files of the tests that the arguments name; of all tests when they name no file at all. */
function specOf(args) {
  const relative = args.map((arg) => (path.isAbsolute(arg) ? path.relative(__dirname, arg) : arg));
  const named = relative.flatMap((arg) => sourceOf.exec(arg)?.slice(1) ?? []);
  const wanted = named.length > 0 || args.some((arg) => /^[^-].*\//.test(arg)) ? named : ["test"];
  return wanted.map((name) => `${compiled}/${compiledName(name)}`);
}

execFileSync(process.execPath, [path.join(__dirname, "test/support/compile.mjs")], {
  stdio: "inherit",
});
// Of glibc: with an arena for each thread a process has half as much again, which each start of a program copies.
process.env.MALLOC_ARENA_MAX ??= "2";
temporaryFilesInMemory();

module.exports = {
  spec: specOf(process.argv.slice(2)),
  ignore: ["test/**", "./test/**", path.join(__dirname, "test/**")],
  // MiB: young objects of a file are collected less often, and most of them are gone by then.
  "node-option": ["enable-source-maps", "min-semi-space-size=32"],
  require: ["hooks", "global-setup"].map((name) => `${compiled}/test/support/${name}.js`),
  // In a process of its own, a file runs by itself as it does among all others.
  parallel: true,
  jobs: 3,
  // The compiled files of a folder, and the sources, which `ignore` then leaves out without a warning.
  extension: kinds.flatMap((kind) => [`${kind}.mjs`, `${kind}.ts`]),
  recursive: true,
  timeout: 240_000,
  exit: false,
};
