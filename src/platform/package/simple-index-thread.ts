import { parentPort } from "node:worker_threads";

import { askSimpleIndex, type SimpleIndexQuestion } from "./simple-index.ts";

/** Runs in a thread of its own: a list of many megabytes holds up nobody else. */
parentPort?.on("message", (question: SimpleIndexQuestion) => {
  parentPort?.postMessage({ answer: askSimpleIndex(question) });
});
parentPort?.postMessage("ready");
