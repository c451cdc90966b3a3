import * as ts from "typescript/unstable/ast";

import { ConstantTexts } from "./constant-text.ts";
import { lineOf, walk } from "./source.ts";

/** `/source/flags`, the files and lines that it stands in, and what makes it there. */
export type FoundExpression = Readonly<{
  place: string;
  code: string;
  patterns: readonly string[];
}>;

/** Every regular expression of the sources; no patterns where it is made of more than constants. */
export function expressionsIn(
  sources: ReadonlyMap<string, ts.SourceFile>,
): readonly FoundExpression[] {
  const constants = new ConstantTexts(sources);
  const found: FoundExpression[] = [];
  for (const [name, file] of sources) {
    walk(file, (node) => {
      const place = () => `${name}:${lineOf(node)}`;
      if (ts.isRegularExpressionLiteral(node)) {
        found.push({ place: place(), code: node.text, patterns: [node.text] });
      } else if (makesExpression(node)) {
        const [source, flags] = node.arguments ?? [];
        const sourceTexts = source && constants.of(source);
        const flagTexts = flags === undefined ? [""] : constants.of(flags);
        const patterns = (sourceTexts ?? []).flatMap((text) =>
          (flagTexts ?? []).map((flag) => patternOf(text, flag)),
        );
        found.push({ place: place(), code: node.getText(), patterns });
      }
    });
  }
  return found;
}

const patternOf = (source: string, flags: string): string =>
  `/${new RegExp(source, flags).source}/${flags}`;

function makesExpression(node: ts.Node): node is ts.NewExpression | ts.CallExpression {
  if (!ts.isNewExpression(node) && !ts.isCallExpression(node)) return false;
  return ts.isIdentifier(node.expression) && node.expression.text === "RegExp";
}
