import { markdownHtml } from "../../../platform/markdown/renderer.ts";
import type { Deps } from "../../core/deps.ts";
import { Html, html } from "../core/html.ts";
import { filePath, type Names, rawPath } from "./address.ts";

/** So much of a text that cannot be rendered is shown. */
const plainLengthMax = 200_000;

/** What stands in front of every path of ours. */
export const baseOf = ({ publicUrl }: Pick<Deps, "publicUrl">): string =>
  new URL(publicUrl).pathname.replace(/\/$/, "");

/** Where relative links of a text start. */
export type TextLocation = Readonly<{ names: Names; revision: string; directory?: string }>;

/** A text in Markdown as a part of a page; as it is when it is too long or takes too long. */
export async function markdownPiece(
  base: string,
  text: string,
  { names, revision, directory = "" }: TextLocation,
): Promise<Html> {
  const markup = await markdownHtml(text, {
    directory,
    linkBase: `${base}${filePath(names, revision, "")}&file=`,
    imageBase: `${base}${rawPath(names, revision, "")}&file=`,
  });
  // The renderer sanitises.
  return markup === undefined
    ? plainPiece(text)
    : html`<div class="prose">${new Html(markup)}</div>`;
}

/** Above what is shown as it was. @param now the page of today */
export const pastNotice = (now: string, asOf: string): Html =>
  html`<p class="notice done" role="status">As it was ${/^\d+$/.test(asOf) ? `after event ${asOf} of the log` : `at ${asOf}`}. <a href="${now}">As it is now</a></p>`;

/** A text as it is, its beginning when it is long. */
export function plainPiece(text: string): Html {
  const beginning = text.slice(0, plainLengthMax).toWellFormed();
  return html`<pre class="plain" tabindex="0">${beginning}</pre>
${text.length > beginning.length && html`<p class="hint">Only the beginning is shown.</p>`}`;
}
