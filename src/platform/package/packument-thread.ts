import { parentPort } from "node:worker_threads";

import { askPackument, type PackumentQuestion } from "./packument.ts";

/** Runs in a thread of its own: a document of many megabytes holds up nobody else. */
parentPort?.on("message", (question: PackumentQuestion) => {
  parentPort?.postMessage({ answer: askPackument(question) });
});
parentPort?.postMessage("ready");
