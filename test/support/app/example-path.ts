import { expect } from "chai";

/**
 * A text that the expression of a path fits, with every optional part; of alternatives the first.
 *
 * @throws AssertionError for a notation that no path here has
 */
export function exampleOf(path: RegExp): string {
  const source = path.source.replace(/^\^/, "").replace(/\$$/, "");
  let at = 0;
  const alternatives = (): string => {
    const first = sequence();
    while (source[at] === "|") {
      at += 1;
      sequence();
    }
    return first;
  };
  const sequence = (): string => {
    let text = "";
    while (at < source.length && source[at] !== ")" && source[at] !== "|") {
      const one = atom();
      const [quantifier = "", , least = "1"] =
        /^(?:[?+*]|(\{)(\d+)(?:,\d*)?\})\??/.exec(source.slice(at)) ?? [];
      at += quantifier.length;
      text += one.repeat(Math.max(1, Number(least)));
    }
    return text;
  };
  const atom = (): string => {
    const [head = ""] =
      /^(?:\((?:\?(?:<\w+>|[:!=]))?|\[\^?(?:\\.|[^\]])+\]|\\.|.)/s.exec(source.slice(at)) ?? [];
    at += head.length;
    if (head.startsWith("(")) {
      const inner = alternatives();
      at += 1;
      return head === "(?!" ? "" : inner;
    }
    if (head.startsWith("["))
      return head.startsWith("[^") ? "x" : head.replace(/^\[\\?/, "").slice(0, 1);
    if (head === "\\d") return "1";
    return head === "\\w" || head === "." ? "w" : head.replace(/^\\/, "");
  };
  const example = alternatives();
  expect(example, path.source).to.match(path);
  return example;
}
