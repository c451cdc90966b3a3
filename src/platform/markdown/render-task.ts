import { renderMarkdown } from "./render.ts";
import type { MarkdownQuestion } from "./renderer.ts";

/** A text may take long to render. */
export const run = ({ text, place }: MarkdownQuestion): string => renderMarkdown(text, place);
