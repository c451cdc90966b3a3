// Compiles src, test and migrations into .tmp/compiled, file by file: only what changed since the last time.
// Tests run from there: a process that loads a thousand modules through a loader of TypeScript takes three times
// as long and twice the memory. A compiled file has the modification time of its source.
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { compiledName } from "./endings.cjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const outdir = path.join(root, ".tmp", "compiled");
const folders = ["src", "test", "migrations"];
const stamp = path.join(outdir, ".made-by");

/** Names of the files below the folder that end so, relative to it. */
function filesOf(folder, ending) {
  const stat = statSync(folder, { throwIfNoEntry: false });
  const names =
    stat === undefined ? [] : readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names.filter((name) => name.endsWith(ending));
}

const timeOf = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;

/** Another compiler, or another version of this file, compiles everything anew. */
function dropForeign() {
  const makers = ["test/support/compile.mjs", "test/support/endings.cjs", "package-lock.json"].map(
    (name) => path.join(root, name),
  );
  const made = makers.map((file) => `${timeOf(file)}`).join(" ");
  if (timeOf(stamp) > 0 && readFileSync(stamp, "utf8") === made) return;
  rmSync(outdir, { recursive: true, force: true });
  mkdirSync(outdir, { recursive: true });
  writeFileSync(stamp, made);
}

/** Sources whose compiled file is missing or of another time; compiled files without a source go. */
function changed() {
  const stale = [];
  for (const folder of folders) {
    const names = filesOf(path.join(root, folder), ".ts").map((name) => path.join(folder, name));
    const compiled = new Set(names.map((name) => compiledName(name)));
    for (const name of filesOf(path.join(outdir, folder), "js")) {
      const file = path.join(folder, name);
      if (!compiled.has(file)) rmSync(path.join(outdir, file));
    }
    const isStale = (name) =>
      Math.abs(timeOf(path.join(root, name)) - timeOf(path.join(outdir, compiledName(name)))) > 1;
    stale.push(...names.filter(isStale));
  }
  return stale;
}

const withoutEnding = (name) => name.replace(/\.m?js$/, "");

// A name of the same length in its stead, so that columns in the source map stay true.
const imports = /^((?:import|export|\}).*"\.[^"]*\.)ts(";)$|(\bimport\("\.[^"]*\.)ts("\))/gm;
const pointToCompiled = (text, name) =>
  text
    .replace(imports, (_, start = "", end = "", dynamic = "", close = "") =>
      start === "" ? `${dynamic}js${close}` : `${start}js${end}`,
    )
    .replace(/^(\/\/# sourceMappingURL=).*$/m, `$1${name}.map`);

async function compile(names) {
  const esbuild = await import("esbuild");
  const times = new Map(names.map((name) => [compiledName(name), timeOf(path.join(root, name))]));
  const files = new Map([...times.keys()].map((name) => [withoutEnding(name), name]));
  const { outputFiles } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: names.map((name) => ({
      in: name,
      out: withoutEnding(compiledName(name)),
    })),
    outdir,
    write: false,
    format: "esm",
    platform: "node",
    target: "node20",
    sourcemap: true,
    sourcesContent: false,
    logLevel: "warning",
  });
  // The map first: a compiled file of the right time is complete.
  for (const { path: made, text } of outputFiles.sort((a, b) => (a.path < b.path ? 1 : -1))) {
    const [, name, map = ""] = /^(.*)\.js(\.map)?$/.exec(path.relative(outdir, made));
    const file = path.join(outdir, files.get(name) + map);
    const time = map === "" ? times.get(files.get(name)) : undefined;
    mkdirSync(path.dirname(file), { recursive: true });
    // Another run in this directory reads all of a file or none.
    const draft = `${file}.${process.pid}`;
    writeFileSync(draft, time === undefined ? text : pointToCompiled(text, path.basename(file)));
    if (time !== undefined) utimesSync(draft, time / 1_000, time / 1_000);
    renameSync(draft, file);
  }
}

dropForeign();
const names = changed();
if (names.length > 0) await compile(names);
