import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

import { build } from "./service.ts";

/** In the thread that loads modules: reports each file that was imported; what those require, Node knows. */
const hooks = `
let port;
export const initialize = (data) => { port = data.port; };
export const load = async (url, context, next) => {
  port.postMessage(url);
  return await next(url, context);
};`;

const program = (main: string, role: string) => `
import { createRequire, register } from "node:module";
import { setTimeout as delay } from "node:timers/promises";
import { MessageChannel } from "node:worker_threads";
const { port1, port2: port } = new MessageChannel();
const files = new Set();
let heard = 0;
port1.on("message", (url) => { heard += 1; files.add(url); });
register("data:text/javascript,${encodeURIComponent(hooks)}", { data: { port }, transferList: [port] });
const { preload } = await import("${main}");
await preload(["${role}"]);
for (let before = -1; before !== heard; await delay(50)) before = heard;
for (const file of Object.keys(createRequire("${main}").cache)) files.add(file);
process.stdout.write(JSON.stringify([...files]));
process.exit();`;

/** Those of our dependencies of which a role of the built program loads something when it starts, sorted. */
export async function loadedPackages(role: string): Promise<readonly string[]> {
  build();
  const main = pathToFileURL(path.resolve("dist/src/main.js")).href;
  const args = ["--input-type=module", "--eval", program(main, role)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 2 ** 24 });
  const files = JSON.parse(stdout) as string[];
  const { dependencies } = JSON.parse(await readFile("package.json", "utf8")) as {
    dependencies: Record<string, string>;
  };
  const bundled = await bundledInputs();
  const inputs = files.flatMap((file) => [file, ...(bundled.get(file) ?? [])]);
  return Object.keys(dependencies)
    .filter((name) => inputs.some((file) => `/${file}`.includes(`/node_modules/${name}/`)))
    .sort();
}

/** What the build put into each of its files, by the URL of the file. */
async function bundledInputs(): Promise<ReadonlyMap<string, readonly string[]>> {
  const inputs = JSON.parse(await readFile("dist/inputs.json", "utf8")) as Record<string, string[]>;
  return new Map(
    Object.entries(inputs).map(([file, names]) => [
      pathToFileURL(path.resolve("dist", file)).href,
      names,
    ]),
  );
}
