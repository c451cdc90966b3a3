import { parentPort } from "node:worker_threads";

import { askOwners, type OwnerQuestion } from "./owner-demand.ts";

/** Runs in a thread of its own: many patterns for many files would block the event loop. */
parentPort?.on("message", (question: OwnerQuestion) => {
  parentPort?.postMessage({ answer: askOwners(question) });
});
parentPort?.postMessage("ready");
