import { parentPort } from "node:worker_threads";

import { askPackument, type PackumentQuestion } from "./packument.ts";

/** Runs in a thread, because a document of many megabytes takes long. */
parentPort?.on("message", (question: PackumentQuestion) => {
  parentPort?.postMessage({ answer: askPackument(question) });
});
parentPort?.postMessage("ready");
