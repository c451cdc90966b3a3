import { openLog } from "../../../src/platform/log.ts";

const log = openLog("info", "test", { write: () => undefined });

/** Logs a text from outside, as a field and as the message of an error. */
export function logged(text: string): void {
  log.info({ path: text, err: new Error(text) }, "answered");
}
