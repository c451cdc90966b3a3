/** Longer templates are refused at the edge; names of refs are at most this long as well. */
export const templateLengthMax = 255;

/**
 * Whether a name of a branch, tag or environment fits a template: `*` stands for any run without
 * `/`, `**` for any run, `?` for one character, everything else for itself, in its case.
 *
 * Walks the name once and keeps the set of places in the template that it could be at, so the time is
 * bounded by the product of the two lengths whatever somebody writes: nothing is tried again.
 */
export function matchesTemplate(template: string, name: string): boolean {
  const tokens = tokensOf(template);
  let places = reach(tokens, new Set([0]));
  for (const character of name) {
    const next = new Set<number>();
    for (const place of places) {
      const token = tokens[place];
      if (token === "**" || (token === "*" && character !== "/")) next.add(place);
      else if (token === "?" || token === character) next.add(place + 1);
    }
    if (next.size === 0) return false;
    places = reach(tokens, next);
  }
  return places.has(tokens.length);
}

/** A character each; runs of asterisks are `*` or, two or more, `**`. */
function tokensOf(template: string): readonly string[] {
  return [...template.matchAll(/\*{2,}|./gsu)].map(([token]) =>
    token.startsWith("**") ? "**" : token,
  );
}

/** A run may be empty, so a place before one is also after it. */
function reach(tokens: readonly string[], places: ReadonlySet<number>): ReadonlySet<number> {
  const all = new Set<number>();
  for (const place of places) {
    let at = place;
    all.add(at);
    while (tokens[at] === "*" || tokens[at] === "**") {
      at += 1;
      all.add(at);
    }
  }
  return all;
}
