import { hash } from "node:crypto";

import { BoundedCache } from "../bounded-cache.ts";
import { TimedThread } from "../timed-thread.ts";
import type { Place } from "./render.ts";

export type MarkdownQuestion = Readonly<{ text: string; place: Place }>;

/** Longer texts are shown as they are. */
const markdownLengthMax = 512 * 1024;

const cacheBytesMax = 16 * 1024 ** 2;
const limits = { startTimeoutMs: 20_000, timeoutMs: 3_000, mebibytesMax: 256, waitingMax: 64 };

const thread = new TimedThread<MarkdownQuestion, string>({
  program: "platform/markdown/render-thread",
  ...limits,
});
const known = new BoundedCache<string>(cacheBytesMax);

/**
 * Markdown as HTML that is safe to show.
 *
 * @returns undefined when the text is too long, or took too long this time
 */
export async function markdownHtml(text: string, place: Place): Promise<string | undefined> {
  if (text.length > markdownLengthMax) return undefined;
  if (text.trim() === "") return "";
  const key = hash("sha256", JSON.stringify([text, place]), "base64");
  const kept = known.get(key);
  if (kept !== undefined) return kept;
  const html = await thread.ask({ text, place });
  if (html !== undefined) known.set(key, html, 2 * html.length + 200);
  return html;
}
