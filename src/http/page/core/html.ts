/** Markup that may be shown as it is: `html` makes it, or what escapes or sanitises a text. */
export class Html {
  constructor(readonly markup: string) {}
}

/** A text is escaped; a list is shown one after the other; null, undefined and false are nothing. */
export type Piece = Html | string | number | null | undefined | false | readonly Piece[];

/**
 * A template tag that escapes whatever is put into it, so that markup can only come from templates.
 * Values go between tags and into quoted attributes, nowhere else.
 */
export function html(template: TemplateStringsArray, ...pieces: readonly Piece[]): Html {
  let markup = template[0] ?? "";
  for (const [index, piece] of pieces.entries()) {
    markup += markupOf(piece) + (template[index + 1] ?? "");
  }
  return new Html(markup);
}

function markupOf(piece: Piece): string {
  if (piece instanceof Html) return piece.markup;
  if (piece === null || piece === undefined || piece === false) return "";
  if (typeof piece === "string" || typeof piece === "number") return escapeText(String(piece));
  return piece.map(markupOf).join("");
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escapeText(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? "");
}
