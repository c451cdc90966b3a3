/** A text that a pattern matches: first alternatives, nothing that is optional. */
export function sampleOf({ source }: RegExp): string {
  let at = 0;

  function alternatives(): string {
    const first = sequence();
    while (source[at] === "|") {
      at += 1;
      sequence();
    }
    return first;
  }

  function sequence(): string {
    let text = "";
    while (at < source.length && source[at] !== "|" && source[at] !== ")") text += repeated();
    return text;
  }

  function repeated(): string {
    const piece = atom();
    const quantifier = /^(?:[+*?]|\{(\d+)(?:,\d*)?\})\??/.exec(source.slice(at));
    if (quantifier === null) return piece;
    const [whole, count = "1"] = quantifier;
    at += whole.length;
    return /^[*?]/.test(whole) ? "" : piece.repeat(Number(count));
  }

  function atom(): string {
    const [whole = "", start, set, escaped, character = ""] =
      /^(?:(\((?:\?(?::|<\w+>))?)|\[((?:\\.|[^\]])+)\]|\\(.)|(.))/s.exec(source.slice(at)) ?? [];
    at += whole.length;
    if (start !== undefined) {
      const inner = alternatives();
      at += 1;
      return inner;
    }
    if (set !== undefined) return set.startsWith("^") ? "x" : set.slice(0, 1);
    if (escaped !== undefined) return { d: "1", w: "x" }[escaped] ?? escaped;
    return /[$^]/.test(character) ? "" : character.replace(".", "x");
  }

  return alternatives();
}
