import { ParserTask } from "../../../src/platform/parser/parser.ts";
import type { HostileQuestion } from "./hostile-task.ts";

/** A program whose parser never returns. It prints the id of the parser's process. */
const module = "../test/support/parser/hostile-task";
const task = new ParserTask<HostileQuestion, { pid: number }>({
  ...{ module, timeoutMs: 600_000, mebibytesMax: 256 },
});
const { pid } = await task.run({ kind: "double", number: 1 });
process.stdout.write(`${pid}\n`);
setInterval(() => undefined, 1_000);
await task.run({ kind: "endless" });
