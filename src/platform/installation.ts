import { existsSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const thisFile = fileURLToPath(import.meta.url);

/** The program runs as bundles made by `npm run build`; otherwise from the TypeScript sources. */
export const isBuilt = path.extname(thisFile) === ".js";

/** The directory that holds package.json, `bin` and, after a build, `dist`. */
export const packageRoot = rootAbove(path.dirname(thisFile));

/** Where files of the program stand that are read or started by path: the sources, or the build. */
export const programRoot = isBuilt ? path.join(packageRoot, "dist") : packageRoot;

function rootAbove(directory: string): string {
  if (existsSync(path.join(directory, "package.json"))) return directory;
  const parent = path.dirname(directory);
  if (parent === directory) throw new Error(`No package.json above ${thisFile}.`);
  return rootAbove(parent);
}
