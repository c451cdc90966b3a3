// Breaks guards of src, one at a time, and says whether `npm test` notices: the tests of the guard's section first, then
// all others. A guard is an `if` that throws a refusal. Which ones follows from the commit, so that a run can be
// repeated. Arguments: how many guards (20), and a seed instead of the commit's hash. Exit code 1 when more than one
// in ten go unnoticed. It changes files of src while it runs and puts them back.
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

const [count = "20", given] = process.argv.slice(2);
const commit = execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" }).trim();
const seed = given ?? commit;
/** Programs of the operator and their stores refuse in other ways, which whole starts test. */
const unbroken = ["agent", "cli", "embedded"];
const layers = readdirSync("src", { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && !unbroken.includes(entry.name))
  .map(({ name }) => name);
const condition = /^(\s*(?:\} else )?if \()(.+)(\) (?:throw\b.*|\{))$/;
/** An error of our own code is no refusal. */
const refusal = /\bthrow (?!new (?:Type)?Error\b|error\b|reason\b)/;

const filesIn = (folder, ending) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(ending))
    .map((name) => path.join(folder, name))
    .sort();

/** Line numbers (from 0) of the conditions of guards in a text. */
function guardsOf(text) {
  const lines = text.split("\n");
  return lines.flatMap((line, index) => {
    if (!condition.test(line)) return [];
    const body = line.endsWith("{") ? (lines[index + 1] ?? "") : line;
    return refusal.test(body) ? [index] : [];
  });
}

function chosen() {
  const all = layers
    .flatMap((layer) => filesIn(path.join("src", layer), ".ts"))
    .flatMap((file) => guardsOf(readFileSync(file, "utf8")).map((line) => ({ file, line })));
  const order = ({ file, line }) =>
    createHash("sha256").update(`${seed} ${file} ${line}`).digest("hex");
  process.stdout.write(`${all.length} guards, ${count} of them by the seed ${seed}\n`);
  return all.sort((a, b) => (order(a) < order(b) ? -1 : 1)).slice(0, Number(count));
}

/** Test files, those that share most words with the path of the source file first. */
function byNearness(file) {
  const words = new Set(file.split(/[^a-z]+/).filter((word) => word.length > 2 && word !== "src"));
  const shared = (test) => test.split(/[^a-z]+/).filter((word) => words.has(word)).length;
  return filesIn("test", ".test.ts").sort((a, b) => shared(b) - shared(a));
}

/** The first test that fails, or undefined. */
function firstFailure(files) {
  const { status, stdout } = spawnSync("npx", ["mocha", "--bail", "--no-color", ...files], {
    encoding: "utf8",
    maxBuffer: 1024 ** 3,
  });
  if (status === 0) return undefined;
  const report = /\d+ failing\n\n\s+1\) ([\s\S]*?):\n\n?\s{6}/.exec(stdout)?.[1];
  return report?.replace(/\s+/g, " ") ?? stdout.trim().split("\n").at(-1);
}

function broken({ file, line }) {
  const text = readFileSync(file, "utf8");
  const lines = text.split("\n");
  const guard = lines[line];
  lines[line] = guard.replace(
    condition,
    (_, start, asked, end) => `${start}false && (${asked})${end}`,
  );
  writeFileSync(file, lines.join("\n"));
  try {
    const files = byNearness(file);
    const steps = [files.slice(0, 12), files.slice(12, 60), files.slice(60)];
    const failure = steps.reduce((found, step) => found ?? firstFailure(step), undefined);
    return { place: `${file}:${line + 1}`, guard: guard.trim(), failure };
  } finally {
    writeFileSync(file, text);
  }
}

let unnoticed = 0;
for (const guard of chosen()) {
  const { place, guard: text, failure } = broken(guard);
  if (failure === undefined) unnoticed += 1;
  process.stdout.write(`${failure === undefined ? "GREEN" : "red"} ${place}: ${text}\n`);
  if (failure !== undefined) process.stdout.write(`    by: ${failure}\n`);
}
process.stdout.write(`${unnoticed} of ${count} broken guards went unnoticed\n`);
process.exitCode = unnoticed > Number(count) / 10 ? 1 : 0;
