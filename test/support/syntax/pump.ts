import { createHash } from "node:crypto";

import * as ts from "typescript/unstable/ast";

import { walk } from "./source.ts";

/** Structure that most formats have. */
const structure = " \n\t/.-:";

/**
 * Texts of single characters and of pairs, each repeated. Another character at the end keeps what looks for the end
 * from finding it.
 */
export function pumped(characters: string, length: number): readonly string[] {
  return piecesOf(characters).flatMap((piece) => {
    const text = repeated(piece, length);
    return [text, `${text}\u0000`];
  });
}

export const repeated = (piece: string, length: number): string =>
  piece.repeat(Math.floor((length - 1) / piece.length));

/**
 * Single characters, then pairs in an order that is always the same: a letter of either
 * case and a digit are as good as any other.
 */
export function piecesOf(characters: string): readonly string[] {
  const each = [...new Set([...characters].map(representative))];
  const pairs = each.flatMap((one) => each.flatMap((two) => (one === two ? [] : one + two)));
  const order = new Map(pairs.map((pair) => [pair, createHash("md5").update(pair).digest("hex")]));
  pairs.sort((a, b) => ((order.get(a) ?? "") < (order.get(b) ?? "") ? -1 : 1));
  return [...each, ...pairs];
}

function representative(character: string): string {
  if (/\d/.test(character)) return "0";
  return /[a-z]/i.test(character) ? (/[a-z]/.test(character) ? "a" : "A") : character;
}

const escapes: Readonly<Record<string, string>> = {
  ...{ r: "\r", n: "\n", t: "\t", s: " ", d: "0", w: "a", "0": "\0" },
};

/** What the texts and regular expressions of a file are made of. */
export function charactersOf(source: ts.SourceFile): string {
  let characters = structure;
  walk(source, (node) => {
    if (ts.isStringLiteral(node) && ts.isImportDeclaration(node.parent)) return;
    if (ts.isStringLiteral(node) || ts.isTemplateLiteralLikeNode(node)) characters += node.text;
    if (ts.isRegularExpressionLiteral(node)) characters += unescaped(node.text);
  });
  return characters;
}

const unescaped = (expression: string): string =>
  expression
    .replaceAll(/\\u([\da-f]{4})|\\x([\da-f]{2})/gi, (_, long: string, short: string) =>
      String.fromCharCode(Number.parseInt(long ?? short, 16)),
    )
    .replaceAll(/\\([a-z0])/g, (_, letter: string) => escapes[letter] ?? letter);
