import { plainText } from "./markdown/plain-text.ts";
import { withoutTrailing } from "./trim.ts";

/** What a text names: `#12`, `!7`, `owner/project#12`, `owner/project!7` or a full commit hash. */
export type TextReference = Readonly<{
  target: string;
  /** A closing word stands before it: `Closes #12`. Only issues are closed. */
  closes: boolean;
}>;

/** Text beyond this is not searched. */
const lengthMax = 65_536;
const referencesMax = 100;

const name = "[A-Za-z0-9][A-Za-z0-9._-]{0,63}";
/** Quantifiers are bounded, so the time grows with the length of the text alone. */
const numbered = `(?<![\\w/.&#!-])(?:${name}/${name})?[#!][1-9]\\d{0,9}(?!\\w)`;
const hash = "(?<![0-9A-Za-z])[0-9a-f]{40}(?:[0-9a-f]{24})?(?![0-9A-Za-z])";
const pattern = new RegExp(`${numbered}|${hash}`, "g");

/** As GitHub and GitLab know them, also emphasised, and before an issue in brackets. */
const closingWord =
  /(?:^_?|[^0-9A-Za-z]_|[^0-9A-Za-z_])(?:clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|implement(?:s|ed|ing)?)[*_]{0,3}:?[*_]{0,3}[ \t]+(?:issues?[ \t]+)?[[(]?$/i;
const closingWordLengthMax = 40;
/** Between the issues of a list that one closing word stands before. */
const separator = /^[\])]?(?:[ \t]*,[ \t]*(?:and[ \t]+)?|[ \t]+(?:(?:and|&)[ \t]+)?)[[(]?$/i;

/**
 * The references of a text in Markdown: what is code or a comment in it names nothing, and a link names what its address
 * and its words do.
 *
 * @param publicUrl as of `referencesIn`
 */
export function referencesInMarkdown(
  markdown: string,
  publicUrl?: string,
): readonly TextReference[] {
  const text = plainText(markdown, (address, words) => {
    if (publicUrl === undefined) return words;
    const [, target] = linked.exec(withoutAddresses(address, publicUrl)) ?? [];
    if (target === undefined) return words;
    // A list of issues goes on after words that name none.
    return words.search(pattern) < 0 ? `[${target}]` : `[${target}, ${words}]`;
  });
  return referencesIn(text, publicUrl);
}

const linked = new RegExp(`^(${name}/${name}[#!]\\d{1,10})(?:\\W|$)`);

/**
 * The references of a text as it is, each once, in the order of the text; at most 100.
 *
 * @param publicUrl of the service: addresses of its issues and merge requests are references as well
 */
export function referencesIn(text: string, publicUrl?: string): readonly TextReference[] {
  const start = text.slice(0, lengthMax);
  const searched = publicUrl === undefined ? start : withoutAddresses(start, publicUrl);
  const found = new Map<string, boolean>();
  let listEnd = -1;
  for (const { 0: target, index } of searched.matchAll(pattern)) {
    const before = searched.slice(Math.max(0, index - closingWordLengthMax), index);
    const goesOn = listEnd >= 0 && isSeparator(searched, listEnd, index);
    const closes = target.includes("#") && (goesOn || closingWord.test(before));
    listEnd = closes ? index + target.length : -1;
    found.set(target, closes || (found.get(target) ?? false));
    if (found.size >= referencesMax) break;
  }
  return [...found].map(([target, closes]) => ({ target, closes }));
}

/** `https://…/project/owner/project/issue/12` becomes `owner/project#12`. */
function withoutAddresses(text: string, publicUrl: string): string {
  const base = `${publicUrl}/project/`;
  const pieces: string[] = [];
  let last = "";
  for (const [index, part] of text.split(base).entries()) {
    const [, whole = "", path, kind, localId] = (index > 0 && addressed.exec(part)) || [];
    const piece =
      path === undefined || /[\w/.&#!-]$/.test(last)
        ? (index > 0 ? base : "") + part
        : `${path}${kind === "issue" ? "#" : "!"}${localId}${part.slice(whole.length)}`;
    pieces.push(piece);
    last = piece.at(-1) ?? last;
  }
  return pieces.join("");
}

const addressed = new RegExp(
  `^((${name}/${name})/(issue|merge-request)/([1-9]\\d{0,9}))(?:[^\\w/]|$)`,
);

/** Number of an issue of the project with this path, `owner/project`; undefined for any other target. */
export function ownIssue(target: string, path: string): number | undefined {
  const [, at, number] = /^(.*)#(\d+)$/.exec(target) ?? [];
  if (at === undefined || (at !== "" && at.toLowerCase() !== path.toLowerCase())) return undefined;
  return Number(number) <= localIdMax ? Number(number) : undefined;
}

const localIdMax = 2 ** 31 - 1;

function isSeparator(text: string, from: number, to: number): boolean {
  return to - from <= closingWordLengthMax && separator.test(text.slice(from, to));
}

/** People mentioned as `@alias` in a text in Markdown, each once, in lower case; at most 50. */
export function mentionsIn(markdown: string): readonly string[] {
  const found = new Set<string>();
  const text = plainText(markdown);
  for (const { 1: alias = "" } of text.slice(0, lengthMax).matchAll(mention)) {
    // A sentence may end right after the alias.
    found.add(withoutTrailing(alias, "._-").toLowerCase());
    if (found.size >= mentionsMax) break;
  }
  return [...found];
}

/** Neither an address (`müller@example.org`) nor the scope of a package (`@scope/name`). */
const mention = new RegExp(`(?<![\\p{L}\\p{M}\\p{N}_@/.-])@(${name})(?![\\w@.-]|/[\\w*])`, "gu");
const mentionsMax = 50;
