import { linearPattern } from "../platform/linear-pattern.ts";

export const patternLengthMax = 1_024;
/** Longer texts are not matched: a commit message of this size is an accident. */
const subjectLengthMax = 64 * 1024;

/**
 * Whether a pattern of the file's language occurs in a text.
 *
 * @param source RE2 syntax, without the slashes around it
 * @param flags of `i`, `m`, `s`, `U`
 * @returns undefined when the pattern is malformed or too long
 */
export function occurs(source: string, flags: string, subject: string): boolean | undefined {
  const pattern = compile(flags === "" ? source : `(?${flags})${source}`);
  if (pattern === null) return undefined;
  return pattern.matcher(subject.slice(0, subjectLengthMax)).find();
}

const compile = (source: string) =>
  source.length > patternLengthMax ? null : linearPattern(source);

/**
 * Whether a path fits a glob: `*` and `?` stop at `/`, `**` followed by `/` is any directories,
 * `[a-z]` is a set and `{a,b}` are alternatives. Files whose name starts with a dot are as others.
 *
 * @param deep whether `**` followed by something else does not stop at `/` either
 * @returns undefined for a malformed glob
 */
export function globMatcher(
  glob: string,
  { deep = false } = {},
): ((path: string) => boolean) | undefined {
  // The expression that is made of it is at least as long.
  if (glob.length > patternLengthMax) return undefined;
  const pattern = compile(`^(?:${globSource(glob, deep)})$`);
  if (pattern === null) return undefined;
  return (path) => pattern.matcher(path).find();
}

function globSource(glob: string, deep: boolean): string {
  let source = "";
  let alternatives = 0;
  for (let at = 0; at < glob.length; at += 1) {
    const character = glob.charAt(at);
    const set = character === "[" ? /^\[([!^]?)([^\]/]+)\]/.exec(glob.slice(at)) : null;
    if (glob.startsWith("**/", at)) {
      source += "(?:[^/]+/)*";
      at += 2;
    } else if (glob.startsWith("**", at)) {
      source += deep || at + 2 === glob.length ? ".*" : "[^/]*";
      at += 1;
    } else if (character === "*") source += "[^/]*";
    else if (character === "?") source += "[^/]";
    else if (set !== null) {
      source += `[${set[1] === "" ? "" : "^/"}${(set[2] ?? "").replaceAll(/[\\[\]^]/g, "\\$&")}]`;
      at += set[0].length - 1;
    } else if (character === "{" && glob.includes("}", at)) {
      source += "(?:";
      alternatives += 1;
    } else if (character === "}" && alternatives > 0) {
      source += ")";
      alternatives -= 1;
    } else if (character === "," && alternatives > 0) source += "|";
    else source += character.replace(/[\\^$.|?*+()[\]{}]/, "\\$&");
  }
  return source + ")".repeat(alternatives);
}
