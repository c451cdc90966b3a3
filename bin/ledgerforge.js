#!/usr/bin/env node
import { existsSync } from "node:fs";
import module from "node:module";
import { fileURLToPath } from "node:url";

// From Node.js 22.8 on, a process reads what an earlier one compiled, which is most of a start. It lies beside the
// code, so whoever may change it may change the code; without the right to write there is none.
module.enableCompileCache?.(fileURLToPath(new URL("../dist/compile-cache", import.meta.url)));

const main = new URL("../dist/src/cli/main.js", import.meta.url);
if (existsSync(main)) {
  await import(main.href);
} else {
  process.stderr.write("ledgerforge is not built yet: run npm ci in its folder first.\n");
  process.exitCode = 78;
}
