import { Composer, type CST, type DocumentOptions, Lexer, Parser, type SchemaOptions } from "yaml";

type TokenOptions = Readonly<{
  depthMax: number;
  onNewLine?: (offset: number) => void;
  /** Given where the text nests deeper. */
  fail: (offset: number) => never;
}>;

/**
 * The parser needs no stack of the machine, the composer that follows it does: depth is checked
 * in between, because composing what is nested very deep can end the process, and a key that is a
 * collection is written as a text again at each level.
 */
export function yamlTokens(text: string, { depthMax, onNewLine, fail }: TokenOptions): CST.Token[] {
  const tokens: CST.Token[] = [];
  const parser = new Parser(onNewLine);
  onNewLine?.(0);
  let offset = 0;
  for (const lexeme of new Lexer().lex(text)) {
    tokens.push(...parser.next(lexeme));
    offset += lexeme.length;
    if (parser.stack.length > depthMax) fail(offset);
  }
  tokens.push(...parser.end());
  return tokens;
}

export type YamlOptions = DocumentOptions &
  SchemaOptions &
  Readonly<{ depthMax: number; maxAliasCount: number }>;

/**
 * The value of a text of one document. Of equal keys the last counts: to look for them takes a square of the time.
 *
 * @throws Error when it is not YAML, nests too deep or repeats too much
 */
export function parseYaml(text: string, options: YamlOptions): unknown {
  const { depthMax, maxAliasCount, ...rest } = options;
  const fail = (): never => {
    throw new Error(`Values are nested deeper than ${depthMax} levels.`);
  };
  const composer = new Composer({ ...rest, uniqueKeys: false, logLevel: "silent" });
  const documents = composer.compose(yamlTokens(text, { depthMax, fail }), true, text.length);
  const [document, second] = [...documents];
  if (second !== undefined) throw new Error("The text holds more than one document.");
  const [error] = document?.errors ?? [];
  if (error !== undefined) throw error;
  return document?.toJS({ maxAliasCount });
}
