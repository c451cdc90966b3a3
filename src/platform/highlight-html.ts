/**
 * Cuts what highlight.js makes (text with `&`, `<`, `>`, quotes escaped, in nested spans) at its
 * newlines. A span over several lines is closed at the end of each and opened again, so that every
 * line is whole HTML by itself.
 */
export function htmlLines(html: string): readonly string[] {
  const lines: string[] = [];
  const open: string[] = [];
  let line = "";
  for (const [token] of html.matchAll(/<span[^>]*>|<\/span>|\n|[^<\n]+/g)) {
    if (token === "\n") {
      lines.push(line + "</span>".repeat(open.length));
      line = open.join("");
      continue;
    }
    if (token === "</span>") open.pop();
    else if (token.startsWith("<")) open.push(token);
    line += token;
  }
  lines.push(line);
  return lines;
}

const escapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#x27;",
};

/** Text as HTML, escaped as highlight.js does. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => escapes[character] ?? "");
}
