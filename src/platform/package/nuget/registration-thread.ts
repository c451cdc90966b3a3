import { parentPort } from "node:worker_threads";

import { askRegistration, type RegistrationQuestion } from "./registration.ts";

/** Runs in a thread, because a registration of many versions takes long. */
parentPort?.on("message", (question: RegistrationQuestion) => {
  parentPort?.postMessage({ answer: askRegistration(question) });
});
parentPort?.postMessage("ready");
