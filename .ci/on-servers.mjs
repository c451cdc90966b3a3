// Prints the test files of some folders that use a database, an event store or queues: those that import the
// helpers of these, directly or through other helpers. The rest does the same on every server.
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

const folders = process.argv.slice(2);
const servers = ["database", "redis"].map((name) => path.resolve(`test/support/store/${name}.ts`));
const imports = new Map();

/** @param {string} file */
function usesServers(file) {
  const reached = new Set([file]);
  // What is added while it is walked is walked as well.
  for (const each of reached) {
    if (!imports.has(each)) imports.set(each, importsOf(each));
    for (const next of imports.get(each)) reached.add(next);
  }
  return servers.some((server) => reached.has(server));
}

/** @param {string} file */
function importsOf(file) {
  const names = readFileSync(file, "utf8").matchAll(/from "(\.[^"]+)"|import\("(\.[^"]+)"\)/g);
  const files = [...names].map(([, one, other]) => path.resolve(path.dirname(file), one ?? other));
  return files.filter((each) => each.startsWith(path.resolve("test")) && each.endsWith(".ts"));
}

for (const folder of folders) {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
  for (const name of names.filter((each) => each.endsWith(".test.ts"))) {
    const file = path.join(folder, name);
    if (usesServers(path.resolve(file))) process.stdout.write(`${file}\n`);
  }
}
