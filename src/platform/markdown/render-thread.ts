import { parentPort } from "node:worker_threads";

import { renderMarkdown } from "./render.ts";
import type { MarkdownQuestion } from "./renderer.ts";

/** Runs in a thread, because a text may take long to render. */
parentPort?.on("message", ({ text, place }: MarkdownQuestion) => {
  parentPort?.postMessage({ answer: renderMarkdown(text, place) });
});
parentPort?.postMessage("ready");
