import { parentPort } from "node:worker_threads";

import { askSimpleIndex, type SimpleIndexQuestion } from "./simple-index.ts";

/** Runs in a thread, because a list of many megabytes takes long. */
parentPort?.on("message", (question: SimpleIndexQuestion) => {
  parentPort?.postMessage({ answer: askSimpleIndex(question) });
});
parentPort?.postMessage("ready");
