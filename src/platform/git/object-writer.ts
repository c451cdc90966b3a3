import type { Repository } from "./repository.ts";
import { runGit } from "./run.ts";

/** Who makes a commit or a tag, as git writes it down. */
export type Signer = Readonly<{ name: string; email: string }>;

/** Anything else about who and when is not the caller's to choose: the zone is UTC. */
export function identLine({ name, email }: Signer, at: Date): string {
  return `${plain(name) || "unknown"} <${plain(email)}> ${Math.floor(at.getTime() / 1000)} +0000`;
}

/** What would end a name or an address early, as git itself strips it (ident.c). */
function plain(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is removed.
  const safe = text.replaceAll(/[\x00-\x1f\x7f<>]/g, "");
  return safe.replace(/^[\s.,:;"\\']+|[\s.,:;"\\']+$/g, "");
}

export type NewTag = Readonly<{
  name: string;
  commitId: string;
  tagger: Signer;
  at: Date;
  message: string;
}>;

/** Writes an annotated tag's object, checked by git, and answers its id; no ref leads to it yet. */
export async function writeTag(repository: Repository, tag: NewTag): Promise<string> {
  const text = [
    `object ${tag.commitId}`,
    "type commit",
    `tag ${tag.name}`,
    `tagger ${identLine(tag.tagger, tag.at)}`,
    "",
    cleanMessage(tag.message),
  ].join("\n");
  return writeObject(repository, "tag", text);
}

/** Line ends as git keeps them, one newline at the end, none before the first words. */
export function cleanMessage(message: string): string {
  const lines = message.replaceAll(/\r\n?/g, "\n").replaceAll(/[ \t]+$/gm, "");
  return `${lines.replace(/^\n+/, "").trimEnd()}\n`;
}

/** @throws GitFailure when it is not well-formed */
export async function writeObject(
  { gitDir }: Repository,
  type: "blob" | "commit" | "tag",
  content: string | Buffer,
): Promise<string> {
  const args = ["hash-object", "-w", "-t", type, "--stdin"] as const;
  const { stdout } = await runGit(gitDir, args, { input: content, writes: true });
  return stdout.toString().trim();
}
