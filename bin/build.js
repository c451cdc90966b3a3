#!/usr/bin/env node
// Bundles src/ into dist/ when dist/ is missing or older, so that a fresh checkout starts by `npm start`.
// Loading a few large files takes half of the time of loading a thousand small ones. Modules that only one
// role needs are in files of their own, loaded with that role. Types are left to `npm run check`.
import {
  existsSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { bundling, newest } from "./bundling.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const sources = ["src", "migrations", "bin/build.js", "bin/bundling.js", "package-lock.json"];
const bundler = path.join(root, "node_modules", "esbuild");
const stamp = path.join(root, "dist", ".built");

async function build() {
  const changed = Math.max(...sources.map((name) => newest(path.join(root, name))));
  // Without sources (an image, a package) there is nothing to build.
  if (changed === 0) return 0;
  if (existsSync(stamp) && Math.ceil(statSync(stamp).mtimeMs) >= Math.floor(changed)) return 0;
  // An install without development packages; also `npm install --package-lock-only`.
  if (!existsSync(bundler)) return existsSync(stamp) || preparing() ? 0 : explain();

  // Made beside the old one and then put in its place: what was built from a deleted file must go too (a
  // migration would still be applied), and two builds at once must not mix.
  const draft = path.join(root, `dist-${process.pid}`);
  try {
    await bundle(draft);
    writeFileSync(path.join(draft, ".built"), "");
    utimesSync(path.join(draft, ".built"), new Date(), new Date(changed));
    replace(path.join(root, "dist"), draft);
    return 0;
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    return 1;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

async function bundle(outdir) {
  const esbuild = await import("esbuild");
  const { metafile } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: [
      ...["src/cli/main.ts", "src/main.ts", "src/platform/event-loop/stall-thread.ts"],
      ...["src/platform/parser/worker.ts", ...parserTasks()],
      ...readdirSync(path.join(root, "migrations")).map((file) => `migrations/${file}`),
    ],
    outdir,
    outbase: ".",
    chunkNames: "chunks/[name]-[hash]",
    ...bundling,
    legalComments: "external",
    sourcemap: true,
    sourcesContent: false,
    metafile: true,
  });
  writeFileSync(path.join(outdir, "inputs.json"), JSON.stringify(inputsOf(metafile, outdir)));
}

/** Modules that processes load to parse something; see src/platform/parser/parser.ts. */
function parserTasks() {
  const names = readdirSync(path.join(root, "src"), { recursive: true, encoding: "utf8" });
  return names.filter((name) => name.endsWith("-task.ts")).map((name) => path.join("src", name));
}

/** For tests: which source files and packages each file of the build holds. */
function inputsOf(metafile, outdir) {
  const entries = Object.entries(metafile.outputs).filter(([file]) => file.endsWith(".js"));
  return Object.fromEntries(
    entries.map(([file, { inputs }]) => [
      path.relative(outdir, path.join(root, file)),
      Object.keys(inputs),
    ]),
  );
}

function replace(target, draft) {
  try {
    rmSync(target, { recursive: true, force: true });
    renameSync(draft, target);
  } catch (error) {
    // Another build of the same sources was quicker.
    if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
  }
}

function preparing() {
  return process.env.npm_lifecycle_event === "prepare";
}

function explain() {
  process.stderr.write("dist/ is missing and cannot be built: run `npm ci` first.\n");
  return 1;
}

process.exitCode = await build();
