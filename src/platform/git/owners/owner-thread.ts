import { parentPort } from "node:worker_threads";

import { askOwners, type OwnerQuestion } from "./owner-demand.ts";

/** Runs in a thread of its own: thousands of patterns for thousands of files hold up nobody else. */
parentPort?.on("message", (question: OwnerQuestion) => {
  parentPort?.postMessage({ answer: askOwners(question) });
});
parentPort?.postMessage("ready");
