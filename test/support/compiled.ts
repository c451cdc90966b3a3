import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

import { isBuilt, packageRoot } from "../../src/platform/installation.ts";

const endings = createRequire(path.join(packageRoot, "package.json"))(
  "./test/support/endings.cjs",
) as Readonly<{ compiledName: (name: string) => string }>;

/** What compile.mjs makes of a TypeScript file of this project; any other file is itself. */
export function compiledFile(file: string): string {
  const name = path.relative(packageRoot, path.resolve(packageRoot, file));
  if (name.startsWith("..") || !name.endsWith(".ts")) return path.resolve(file);
  return path.join(packageRoot, ".tmp", "compiled", endings.compiledName(name));
}

/** The TypeScript file that such a file is made of. */
export function sourceOf(file: string): string {
  const name = path.relative(path.join(packageRoot, ".tmp", "compiled"), file);
  return name.startsWith("..") ? file : path.join(packageRoot, name.replace(/\.m?js$/, ".ts"));
}

/** The address to import it by. */
export const compiled = (file: string): string => pathToFileURL(compiledFile(file)).href;

/** Arguments by which Node runs a TypeScript file of this project, as this process runs: compiled, or by a loader. */
export const nodeArgs = (file: string): readonly string[] =>
  isBuilt
    ? ["--enable-source-maps", compiledFile(file)]
    : ["--import=tsx", path.resolve(packageRoot, file)];

const bundles = new Map<string, string>();

/** Arguments by which Node runs a TypeScript file of this project as one bundle: for large programs, started often. */
export function bundledArgs(file: string): readonly string[] {
  const script = path.join(packageRoot, "test/support/bundle.mjs");
  const made = bundles.get(file) ?? execFileSync(process.execPath, [script, file]).toString();
  bundles.set(file, made);
  return [made];
}
