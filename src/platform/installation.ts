import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const thisFile = fileURLToPath(import.meta.url);

/** The program runs compiled: as bundles made by `npm run build`, or in tests. Otherwise it is the TypeScript sources. */
export const isBuilt = path.extname(thisFile) === ".js";

/** The directory that holds package.json, `bin` and, after a build, `dist`. */
export const packageRoot = directoryAbove("package.json", path.dirname(thisFile));

/** Where files of the program stand that are read or started by path: the sources, or what they were compiled to. */
export const programRoot = directoryAbove("migrations", path.dirname(thisFile));

function directoryAbove(name: string, directory: string): string {
  if (existsSync(path.join(directory, name))) return directory;
  const parent = path.dirname(directory);
  if (parent === directory) throw new Error(`No ${name} above ${thisFile}.`);
  return directoryAbove(name, parent);
}

const packageFile = readFileSync(path.join(packageRoot, "package.json"), "utf8");
/** Of this release. */
export const { version: packageVersion } = JSON.parse(packageFile) as { version: string };
