import { startNodeChild } from "../../../src/embedded/node-child.ts";
import { compiledFile } from "../compiled.ts";

// Run as a program of its own, so that a test can kill it: starts a child and reports its pid.
const [dir = ""] = process.argv.slice(2);
const child = await startNodeChild({
  program: compiledFile("test/support/process/child-program.ts"),
  args: ["well"],
  environment: {},
  settings: Promise.resolve({}),
  logFile: `${dir}/child.log`,
  pidFile: `${dir}/child.pid`,
});
process.send?.({ pid: child.pid });
await child.exited;
