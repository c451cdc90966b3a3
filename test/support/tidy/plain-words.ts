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

const wordsOfNames = /^(?:asked|told|unasked)$/i;
/** Values that are stored or served: events that exist keep their types and fields, requests their parameters. */
const storedNames: ReadonlySet<string> = new Set([
  "EmailConfirmationAsked",
  "PasswordResetAsked",
  "askedAt",
  "unasked",
]);

/** Identifiers of a source file in which one of the words stands for a term. Texts and comments are left out. */
export function dialectInNames(text: string): string[] {
  if (!/asked|told/i.test(text)) return [];
  const names = new Set<string>();
  for (const [, name = ""] of codeOf(text).matchAll(/(?<![\w$])([A-Za-z_$][\w$]*)/g)) {
    if (!storedNames.has(name) && wordsIn(name).some((word) => wordsOfNames.test(word))) {
      names.add(name);
    }
  }
  return Array.from(names, (name) => `"${name}"; instead: requested, received, sent, reported`);
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
