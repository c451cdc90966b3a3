/**
 * Reads pipeline files as the npm package gitlab-ci-local does. It has no interface but its command line,
 * so its module is evaluated anew for every file, which takes a tenth of the time of a process.
 *
 * Runs in the repository of the files. Argument: the package's file. Standard input: `[{file, preview}]` in JSON.
 * Standard output: the same with `output`, `said` and `exitCode`.
 */
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";

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

const answers = [];
for (const [n, { file, preview }] of wanted.entries()) {
  output = "";
  said = "";
  const options = ["--no-json-schema-validation", "--no-color", "--file", file];
  const state = ["--home", process.cwd(), "--state-dir", ".state"];
  const isExit = new Promise((resolve) => {
    ended = resolve;
  });
  process.argv = [program, here, preview ? "--preview" : "--list-json", ...state, ...options];
  await import(`${pathToFileURL(packageFile)}?${n}`);
  const exitCode = await isExit;
  for (const signal of ["exit", "SIGINT", "SIGTERM", "SIGUSR2"]) process.removeAllListeners(signal);
  answers.push({ file, preview, output, said, exitCode });
}
write(JSON.stringify(answers));
