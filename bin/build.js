#!/usr/bin/env node
// Compiles src/ to dist/ when dist/ is missing or older, so that a fresh checkout starts by `npm start`.
// Types are left to `npm run check`: without them this takes half a second.
import { spawnSync } from "node:child_process";
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

const root = fileURLToPath(new URL("..", import.meta.url));
const sources = ["src", "migrations", "tsconfig.json", "tsconfig.build.json"];
const compiler = path.join(root, "node_modules", ".bin", "tsc");
const stamp = path.join(root, "dist", ".built");

process.exitCode = build();

function build() {
  const changed = Math.max(...sources.map((name) => newest(path.join(root, name))));
  // Without sources (an image, a package) there is nothing to build.
  if (changed === 0) return 0;
  if (existsSync(stamp) && Math.ceil(statSync(stamp).mtimeMs) >= Math.floor(changed)) return 0;
  // An install without development packages; also `npm install --package-lock-only`.
  if (!existsSync(compiler)) return existsSync(stamp) || preparing() ? 0 : explain();

  // Made anew beside the old one and then put in its place: what was compiled from a file that is gone
  // must go too (a migration would still be applied), and two builds at once must not mix.
  const draft = path.join(root, `dist-${process.pid}`);
  const args = [
    "-p",
    path.join(root, "tsconfig.build.json"),
    "--noCheck",
    "--incremental",
    "false",
  ];
  const { status } = spawnSync(compiler, [...args, "--outDir", draft], { stdio: "inherit" });
  if (status === 0) {
    writeFileSync(path.join(draft, ".built"), "");
    utimesSync(path.join(draft, ".built"), new Date(), new Date(changed));
    replace(path.join(root, "dist"), draft);
  }
  rmSync(draft, { recursive: true, force: true });
  return status ?? 1;
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

/** Modification time of the newest file; a directory changes when a file is removed. 0 without any. */
function newest(file) {
  const entry = statSync(file, { throwIfNoEntry: false });
  if (entry === undefined) return 0;
  if (!entry.isDirectory()) return entry.mtimeMs;
  return Math.max(entry.mtimeMs, ...readdirSync(file).map((name) => newest(path.join(file, name))));
}

function preparing() {
  return process.env.npm_lifecycle_event === "prepare";
}

function explain() {
  process.stderr.write("dist/ is missing and cannot be built: run `npm ci` first.\n");
  return 1;
}
