/** Longer templates are refused at the edge; names of refs are at most this long as well. */
export const templateLengthMax = 255;

/** Whether a name of a branch, tag or environment fits a template. */
export type NameMatcher = (name: string) => boolean;

const wordBits = 32;

/**
 * Prepares a template: `*` matches any run without `/`, `**` for any run, `?` for one character,
 * everything else for itself, in its case.
 *
 * A matcher is made in far less than a millisecond: a project has some hundred templates, all of which are prepared
 * for a push. It walks a name once. The places in the template that the name may have reached are bits of a
 * few words, all of which move on together with each character, so the time is the length of the name
 * times an eighth of that of the template at most, whatever both hold.
 */
export function compileTemplate(template: string): NameMatcher {
  if (!/[*?]/.test(template)) return (name) => name === template;
  const tokens = tokensOf(template);
  const words = Math.floor(tokens.length / wordBits) + 1;
  const stars = new Uint32Array(words);
  const anyRuns = new Uint32Array(words);
  const anyCharacter = new Uint32Array(words);
  for (const [place, token] of tokens.entries()) {
    if (token.startsWith("*")) setBit(stars, place);
    if (token === "**") setBit(anyRuns, place);
    if (token === "?") setBit(anyCharacter, place);
  }
  const literals = new Map<string, Uint32Array>();
  for (const [place, token] of tokens.entries()) {
    if (token === "?" || token.startsWith("*")) continue;
    const places = literals.get(token) ?? Uint32Array.from(anyCharacter);
    setBit(places, place);
    literals.set(token, places);
  }

  return (name) => {
    const places = new Uint32Array(words);
    places[0] = 1;
    passEmptyRuns(places, stars);
    for (const character of name) {
      const takes = literals.get(character) ?? anyCharacter;
      if (!step(places, takes, character === "/" ? anyRuns : stars)) return false;
      passEmptyRuns(places, stars);
    }
    return hasBit(places, tokens.length);
  };
}

/** For one name; who has many compiles the template once. */
export function matchesTemplate(template: string, name: string): boolean {
  return compileTemplate(template)(name);
}

/** A character each; runs of asterisks are `*` or, two or more, `**`. */
function tokensOf(template: string): readonly string[] {
  return [...template.matchAll(/\*{2,}|./gsu)].map(([token]) =>
    token.startsWith("**") ? "**" : token,
  );
}

/**
 * One character: places in `stays` are kept, those in `takes` move on by one.
 *
 * @returns whether any place is left
 */
function step(places: Uint32Array, takes: Uint32Array, stays: Uint32Array): boolean {
  let carry = 0;
  let left = 0;
  for (let at = 0; at < places.length; at += 1) {
    const place = places[at] ?? 0;
    const moved = place & (takes[at] ?? 0);
    const next = (place & (stays[at] ?? 0)) | (moved << 1) | carry;
    carry = moved >>> (wordBits - 1);
    places[at] = next;
    left |= next;
  }
  return left !== 0;
}

/** A run may be empty, so a place before one is also after it. No two runs are neighbours. */
function passEmptyRuns(places: Uint32Array, stars: Uint32Array): void {
  let carry = 0;
  for (let at = 0; at < places.length; at += 1) {
    const place = places[at] ?? 0;
    const before = place & (stars[at] ?? 0);
    places[at] = place | (before << 1) | carry;
    carry = before >>> (wordBits - 1);
  }
}

function setBit(bits: Uint32Array, place: number): void {
  const word = Math.floor(place / wordBits);
  bits[word] = (bits[word] ?? 0) | (1 << (place % wordBits));
}

function hasBit(bits: Uint32Array, place: number): boolean {
  return ((bits[Math.floor(place / wordBits)] ?? 0) & (1 << (place % wordBits))) !== 0;
}
