import { parentPort } from "node:worker_threads";

import { askRegistration, type RegistrationQuestion } from "./registration.ts";

/** Runs in a thread of its own: a registration of many versions holds up nobody else. */
parentPort?.on("message", (question: RegistrationQuestion) => {
  parentPort?.postMessage({ answer: askRegistration(question) });
});
parentPort?.postMessage("ready");
