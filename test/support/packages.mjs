// Bundles the packages that compiled files import into .tmp/compiled/node_modules, where those files find them
// first: a process loads a dozen files in the place of a thousand small ones. Packages that the build does not bundle
// stay where they are, as the program that users run has them.
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { bundling } from "../../bin/bundling.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const compiled = path.join(root, ".tmp", "compiled");
const outdir = path.join(compiled, "node_modules");
const list = path.join(outdir, ".list");

/** Of those that only tests use, the ones that nearly all of them load. */
const ofTests = ["ajv", "ajv-formats", "undici"];
const { dependencies } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
const isExternal = (name) =>
  bundling.external.some((each) =>
    each.endsWith("/*") ? name.startsWith(each.slice(0, -1)) : each === name,
  );
const bundled = new Set(
  [...Object.keys(dependencies), ...ofTests].filter((name) => !isExternal(name)),
);

const packageOf = (specifier) => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? "";
const imports = /^(?:import|export|\}).*"([^"./][^":]*)";$|\bimport\("([^"./][^":]*)"\)/gm;

/** The packages that compiled text imports, with what is meant of them: `pg`, `ajv/dist/2020.js`. */
export const importedBy = (text) =>
  [...text.matchAll(imports)]
    .map(([, from, dynamic]) => from ?? dynamic)
    .filter((specifier) => bundled.has(packageOf(specifier)));

/** Bundles them unless all of them are bundled already. */
export async function bundlePackages(specifiers) {
  const known = existsSync(list) ? readFileSync(list, "utf8").split("\n") : [];
  const all = [...new Set([...known, ...specifiers])].sort();
  if (all.length === known.length) return;
  const esbuild = await import("esbuild");
  // Outside of what was bundled before, which would be found there first.
  const draft = path.join(root, ".tmp", `packages.${process.pid}`);
  const entries = path.join(draft, ".entries");
  mkdirSync(entries, { recursive: true });
  const entryPoints = [];
  for (const [index, specifier] of all.entries()) {
    const file = path.join(entries, `${index}.mjs`);
    // By name: what a module in CommonJS exports is known only once it has run.
    const names = Object.keys(await import(specifier)).filter((name) => /^[\w$]+$/.test(name));
    writeFileSync(file, `export { ${names.join(", ")} } from ${JSON.stringify(specifier)};\n`);
    entryPoints.push({ in: file, out: fileOf(specifier).slice(0, -".js".length) });
  }
  await esbuild.build({ ...bundling, absWorkingDir: root, entryPoints, outdir: draft });
  for (const name of new Set(all.map(packageOf))) {
    const exports = all
      .filter((specifier) => packageOf(specifier) === name)
      .map((specifier) => [
        `.${specifier.slice(name.length)}`,
        `.${fileOf(specifier).slice(name.length)}`,
      ]);
    // What is loaded by a computed name, or by `require`, is that of the package itself.
    symlinkSync(path.join(root, "node_modules", name), path.join(draft, name, "itself"));
    const about = {
      ...{ name, type: "module" },
      exports: { ...Object.fromEntries(exports), "./*": "./itself/*" },
    };
    writeFileSync(path.join(draft, name, "package.json"), JSON.stringify(about));
  }
  rmSync(entries, { recursive: true });
  writeFileSync(path.join(draft, ".list"), all.join("\n"));
  rmSync(outdir, { recursive: true, force: true });
  try {
    renameSync(draft, outdir);
  } catch (error) {
    // Another run was quicker.
    if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    rmSync(draft, { recursive: true });
  }
}

/** Where the bundle of it stands below the directory. */
const fileOf = (specifier) =>
  packageOf(specifier) === specifier ? `${specifier}/index.js` : specifier;
