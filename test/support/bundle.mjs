// Bundles a program that tests start often, from the sources as they are: it loads in a third of the time that
// its modules take one by one. Does nothing when up to date. Argument: its TypeScript file. Standard output: the
// file to run, which stands among the compiled files, where it finds what is started by path.
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { bundling, newest } from "../../bin/bundling.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const bundles = path.join(root, ".tmp", "compiled", "bundles");
const sources = ["src", "test/support", "bin/bundling.js", "package-lock.json"];

const [file = ""] = process.argv.slice(2);
const name = path.basename(file, ".ts");
const changed = Math.max(...sources.map((source) => newest(path.join(root, source))));
const outdir = path.join(bundles, `${name}-${Math.round(changed)}`);
if (!existsSync(outdir)) await bundle();
process.stdout.write(path.join(outdir, `${name}.js`));

async function bundle() {
  const esbuild = await import("esbuild");
  mkdirSync(bundles, { recursive: true });
  const older = readdirSync(bundles).filter((entry) => /^(.*)-\d+$/.exec(entry)?.[1] === name);
  const draft = `${outdir}.${process.pid}`;
  await esbuild.build({ ...bundling, absWorkingDir: root, entryPoints: [file], outdir: draft });
  try {
    renameSync(draft, outdir);
  } catch (error) {
    // Another test process was quicker.
    if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    rmSync(draft, { recursive: true });
  }
  for (const entry of older) {
    const directory = path.join(bundles, entry);
    if (directory !== outdir) rmSync(directory, { recursive: true, force: true });
  }
}
