import { hash } from "node:crypto";

import { BoundedCache } from "../bounded-cache.ts";
import { ParserTask } from "../parser/parser.ts";
import type { Place } from "./render.ts";

export type MarkdownQuestion = Readonly<{ text: string; place: Place }>;

/** Longer texts are shown as they are. */
const markdownLengthMax = 512 * 1024;

const cacheBytesMax = 16 * 1024 ** 2;

const task = new ParserTask<MarkdownQuestion, string>({
  module: "platform/markdown/render-task",
  timeoutMs: 3_000,
  mebibytesMax: 256,
});
const cache = new BoundedCache<string>(cacheBytesMax);

/**
 * Markdown as HTML that is safe to show.
 *
 * @returns undefined when the text is too long, or took too long this time
 */
export async function markdownHtml(text: string, place: Place): Promise<string | undefined> {
  if (text.length > markdownLengthMax) return undefined;
  if (text.trim() === "") return "";
  const key = hash("sha256", JSON.stringify([text, place]), "base64");
  const cached = cache.get(key);
  if (cached !== undefined) return cached;
  // Whatever went wrong, the text is shown as it is.
  const html = await task.run({ text, place }).catch(() => undefined);
  if (html !== undefined) cache.set(key, html, 2 * html.length + 200);
  return html;
}
