/**
 * Reads pipeline files as the npm package gitlab-ci-local does. It has no interface but its command line,
 * so its module is evaluated anew for every file: as a function, which Node.js compiles once.
 *
 * Runs in the repository of the files. Argument: the package's file. Standard input: `[{file, preview}]` in JSON.
 * Standard output: the same with `output`, `said` and `exitCode`.
 */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import vm from "node:vm";
import { transform } from "esbuild";

// The package wants Node.js 22, of which it uses this alone.
Set.prototype.union ??= function union(other) {
  return new Set([...this, ...other]);
};

const [program, here, packageFile] = process.argv;
const wanted = JSON.parse(await text(process.stdin));
const write = process.stdout.write.bind(process.stdout);
let output = "";
let said = "";
let ended = () => undefined;
process.stdout.write = (piece) => {
  output += piece;
  return true;
};
process.stderr.write = (piece) => {
  said += piece;
  return true;
};
process.exit = (exitCode) => ended(exitCode ?? 0);

const { code } = await transform(await readFile(packageFile, "utf8"), {
  format: "cjs",
  define: { "import.meta.url": "moduleUrl" },
});
const parameters = ["require", "module", "exports", "moduleUrl"];
const evaluate = vm.compileFunction(code, parameters, { filename: packageFile });

const answers = [];
for (const { file, preview } of wanted) {
  output = "";
  said = "";
  const options = ["--no-json-schema-validation", "--no-color", "--file", file];
  const state = ["--home", process.cwd(), "--state-dir", ".state"];
  const isExit = new Promise((resolve) => {
    ended = resolve;
  });
  process.argv = [program, here, preview ? "--preview" : "--list-json", ...state, ...options];
  evaluate(createRequire(packageFile), { exports: {} }, {}, pathToFileURL(packageFile).href);
  const exitCode = await isExit;
  for (const signal of ["exit", "SIGINT", "SIGTERM", "SIGUSR2"]) process.removeAllListeners(signal);
  answers.push({ file, preview, output, said, exitCode });
}
write(JSON.stringify(answers));
