import { trimmedOf } from "../../platform/trim.ts";
import type { Identity } from "./object.ts";
import { type NewObject, newObject } from "./pack-writer.ts";

/** Who makes a commit or a tag, as git writes it down. */
export type Signer = Readonly<{ name: string; email: string }>;

/** Anything else about who and when is not the caller's to choose: the zone is UTC. */
export function identLine({ name, email }: Signer, at: Date): string {
  // Git knows no time before 1970.
  const seconds = Math.max(0, Math.floor(at.getTime() / 1000));
  return `${plain(name) || "unknown"} <${plain(email)}> ${seconds} +0000`;
}

/** A person's line as it is in another commit, with its time zone. */
export function sameIdentLine({ name, email, when, zone }: Identity): string {
  const safeZone = /^[+-]\d{4}$/.test(zone) ? zone : "+0000";
  return identLine({ name, email }, when).replace(/\+0000$/, safeZone);
}

/** What git strips from the ends of a name (ident.c), and the blanks of other scripts. */
const crud =
  " .,:;\"\\'\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff";

/** What would end a name or an address early, as git itself strips it. */
function plain(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is removed.
  const safe = text.replaceAll(/[\x00-\x1f\x7f<>]/g, "");
  return trimmedOf(safe, crud);
}

export type NewTag = Readonly<{
  name: string;
  commitId: string;
  tagger: Signer;
  at: Date;
  message: string;
}>;

/** An annotated tag's object; no ref leads to it yet. */
export function newTag(tag: NewTag): NewObject {
  const lines = [
    `object ${tag.commitId}`,
    "type commit",
    `tag ${tag.name}`,
    `tagger ${identLine(tag.tagger, tag.at)}`,
    "",
    cleanMessage(tag.message),
  ];
  return newObject("tag", lines.join("\n"));
}

export type NewCommit = Readonly<{
  treeId: string;
  parentIds: readonly string[];
  /** Lines of `identLine`. */
  author: string;
  committer: string;
  message: string;
}>;

export function newCommit(commit: NewCommit): NewObject {
  const lines = [
    `tree ${commit.treeId}`,
    ...commit.parentIds.map((id) => `parent ${id}`),
    `author ${commit.author}`,
    `committer ${commit.committer}`,
    "",
    cleanMessage(commit.message),
  ];
  return newObject("commit", lines.join("\n"));
}

/** Line ends as git keeps them, one newline at the end, none before the first words. */
export function cleanMessage(message: string): string {
  const text = message.replaceAll("\0", "").replaceAll(/\r\n?/g, "\n");
  // Line by line: an expression for space at line ends takes the square of the length of a run of it.
  const lines = text.split("\n").map((line) => line.trimEnd());
  return `${lines.join("\n").replace(/^\n+/, "").trimEnd()}\n`;
}
