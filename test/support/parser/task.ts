import { ParserTask } from "../../../src/platform/parser/parser.ts";
import type { HostileQuestion } from "./hostile-task.ts";

const module = "../test/support/parser/hostile-task";

/** Of documents that do what is meant to be harm. */
export const taskOf = (timeoutMs = 60_000) =>
  new ParserTask<HostileQuestion, unknown, number>({ module, timeoutMs, mebibytesMax: 256 });

export const errorOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );
