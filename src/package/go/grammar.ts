import { badFile } from "../core/coordinates.ts";

/**
 * A go.mod as ParseLax of golang.org/x/mod/modfile (BSD-3) reads those of dependencies. The newest version's says which
 * versions are retracted, so that its fault concerns all.
 */

const wordForm = /\s*(?:(\/\/.*)|("(?:[^"\\\n]|\\.)*"|`[^`\n]*`)|(=>|[()[\],])|([^\s()[\],"`]+))/y;
const versionForm =
  /^v(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){0,2}(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/;
/** As it is read in the go.mod of a dependency. */
const goForm = /^v?[1-9]\d*\.(?:0|[1-9]\d*)(?:\D.*)?$/;
const linesMax = 20_000;

/** The words of a line without its comment; undefined when a text is not closed. */
function wordsOf(line: string): readonly string[] | undefined {
  const words: string[] = [];
  const end = line.trimEnd().length;
  for (wordForm.lastIndex = 0; wordForm.lastIndex < end; ) {
    const [found, comment, text, sign, word] = wordForm.exec(line) ?? [];
    if (found === undefined) return undefined;
    if (comment !== undefined) break;
    words.push(text?.slice(1, -1) ?? sign ?? word ?? "");
  }
  return words;
}

/** @throws Refusal 422 in the words of go */
export function checkGoMod(mod: string): void {
  const lines = mod.split("\n");
  if (lines.length > linesMax) throw badFile(`go.mod has over ${linesMax} lines`);
  let block: string | undefined;
  const seen = new Set<string>();
  for (const [at, line] of lines.entries()) {
    const fault = (what: string) => badFile(`go.mod:${at + 1}: ${what}`);
    const words = wordsOf(line);
    if (words === undefined) throw fault("syntax error: unterminated or unexpected text");
    const [first, second] = words;
    if (first === undefined) continue;
    if (block !== undefined) {
      if (first === ")" && words.length === 1) block = undefined;
      else mustBeDirective(block, words, fault);
      continue;
    }
    if (first === "(" || first === ")") throw fault("syntax error");
    if (second === "(" && words.length === 2) {
      block = first;
      continue;
    }
    if ((first === "module" || first === "go") && seen.has(first))
      throw fault(`repeated ${first} statement`);
    seen.add(first);
    mustBeDirective(first, words.slice(1), fault);
  }
  if (block !== undefined) throw badFile("go.mod: syntax error: unterminated block");
}

type Fault = (what: string) => Error;

/** Directives that are unknown, or concern the main module alone, are not read. */
function mustBeDirective(name: string, words: readonly string[], fault: Fault): void {
  if (name === "module" && words.length !== 1) throw fault("usage: module module/path");
  if (name === "go" && !(words.length === 1 && goForm.test(words[0] ?? ""))) {
    throw fault(`invalid go version '${words.join(" ")}': must match format 1.23`);
  }
  if (name === "require") {
    if (words.length !== 2) throw fault("usage: require module/path v1.2.3");
    if (!versionForm.test(words[1] ?? "")) throw fault(`invalid module version "${words[1]}"`);
  }
  if (name === "retract") {
    const [open, low = "", comma, high = "", close] = words;
    const isRange = words.length === 5 && open === "[" && comma === "," && close === "]";
    const versions = isRange ? [low, high] : words;
    if (!(isRange || words.length === 1) || !versions.every((each) => versionForm.test(each))) {
      throw fault("invalid retract statement: expected a version or [low, high]");
    }
  }
}
