import { codeOf } from "./code-of.ts";

/**
 * Words that made a dialect of their own, and what is written instead. `place` is refused where it stands for a slot, and
 * remains a word for a location.
 */
const dialect: readonly (readonly [RegExp, string])[] = [
  [/\b(?:somebody|someone)\b/i, "name the actor: a user, a client, a process"],
  [/\b(?:whoever|whomever)\b/i, "name the actor, and what it does"],
  [/\btold\b/i, "sent, notified, requested, distinguished"],
  [/\basked\b/i, "requested, queried"],
  [/\basks\b/i, "requests, queries, requires"],
  [/\btells\b/i, "reports, shows, distinguishes"],
  [/\b(?:stands? for|look(?:s|ed) at)\b/i, "represents, means; reads, checks"],
  [/\bhears? of\b/i, "receives, is notified of"],
  [/\bsays? so\b/i, "say what is said"],
  [/\b(?:gives?|holds?) (?:a|its|no|the) place\b|\b(?:takes? a|free) place\b/i, "slot"],
];

/** Finds any of them: most lines have none. */
const anyOfDialect = new RegExp(dialect.map(([word]) => word.source).join("|"), "i");

/** The rules broken by the comments and the names of tests in a source file, with their lines. */
export function dialectInSource(text: string): string[] {
  return dialectIn(linesOfProse(text));
}

/** The same for a document, all of which is prose. */
export function dialectInDocument(text: string): string[] {
  return dialectIn(text.split("\n").entries());
}

/** Names that stood for terms of the field, and those terms. */
const wordsOfNames: readonly (readonly [RegExp, string])[] = [
  [/^(?:ask|asks|asked|asker|asking|told|unasked)$/i, "requested, received, sent, reported"],
  [/^flights?$/i, "shared download"],
  [/^seats?$/i, "slot"],
  [/^(?:gather|gathers|gathered|gathering)$/i, "batch"],
  [/^(?:unproved|proven|unproven|prover|proving)$/i, "authenticated"],
];

/** Finds most files that hold none of them. */
const anyOfNames = /ask|told|flight|seat|gather|unprov|prov(?:en|er|ing)/i;

/**
 * Values that are stored or served: events that exist keep their types and fields, requests their parameters, counters
 * their keys.
 */
const storedNames: ReadonlySet<string> = new Set([
  "EmailConfirmationAsked",
  "PasswordResetAsked",
  "ask",
  "askedAt",
  "unasked",
]);

/** Identifiers of a source file in which one of the words stands for a term. Texts and comments are left out. */
export function dialectInNames(text: string): string[] {
  if (!anyOfNames.test(text)) return [];
  const names = new Map<string, string>();
  for (const [, name = ""] of codeOf(text).matchAll(/(?<![\w$])([A-Za-z_$][\w$]*)/g)) {
    if (storedNames.has(name) || names.has(name)) continue;
    const words = wordsIn(name);
    const [, instead] = wordsOfNames.find(([term]) => words.some((word) => term.test(word))) ?? [];
    if (instead !== undefined) names.set(name, instead);
  }
  return Array.from(names, ([name, instead]) => `"${name}"; instead: ${instead}`);
}

function wordsIn(name: string): readonly string[] {
  return name.split(/[_$]|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/);
}

function dialectIn(lines: Iterable<readonly [index: number, prose: string]>): string[] {
  const broken: string[] = [];
  for (const [index, prose] of lines) {
    if (!anyOfDialect.test(prose)) continue;
    for (const [word, instead] of dialect) {
      const [found] = word.exec(prose) ?? [];
      if (found !== undefined) broken.push(`line ${index + 1}: "${found}"; instead: ${instead}`);
    }
  }
  return broken;
}

function* linesOfProse(text: string): Generator<readonly [index: number, prose: string]> {
  let isComment = false;
  for (const [index, line] of text.split("\n").entries()) {
    isComment ||= line.trimStart().startsWith("/*");
    yield [index, isComment ? line : proseOf(line)];
    if (line.trimEnd().endsWith("*/")) isComment = false;
  }
}

/** A comment at the end of a line, and the name of a test. */
function proseOf(line: string): string {
  const [comment = ""] = /(?:^|\s)\/\/ .*/.exec(line) ?? [];
  const [, name = ""] = /\b(?:it|describe)\(["`](.*)/.exec(line) ?? [];
  return `${name} ${comment}`;
}
