/** How git stores its four kinds of objects; see gitformat "git-cat-file(1)" and "git-mktree(1)". */
export type ObjectType = "blob" | "tree" | "commit" | "tag";

export type ObjectInfo = Readonly<{ id: string; type: ObjectType; bytes: number }>;

export type Identity = Readonly<{
  name: string;
  email: string;
  /** The instant; the zone the person was in is kept beside it as git writes it. */
  when: Date;
  zone: string;
}>;

export type Commit = Readonly<{
  id: string;
  treeId: string;
  parentIds: readonly string[];
  author: Identity;
  committer: Identity;
  message: string;
  /** Armoured signature, if the commit has one. */
  signature: string | null;
}>;

/** An annotated tag. */
export type TagObject = Readonly<{
  id: string;
  targetId: string;
  targetType: ObjectType;
  name: string;
  /** Very old tags have none. */
  tagger: Identity | null;
  message: string;
}>;

export type TreeEntryKind = "file" | "executable" | "symlink" | "directory" | "submodule";

export type TreeEntry = Readonly<{ name: string; id: string; kind: TreeEntryKind }>;

export function parseCommit(id: string, data: Buffer): Commit {
  const { headers, body } = split(data);
  const decode = decoderOf(first(headers, "encoding"));
  return {
    id,
    treeId: first(headers, "tree")?.toString("latin1") ?? "",
    parentIds: headers.filter(({ key }) => key === "parent").map(({ value }) => value.toString()),
    author: parseIdentity(decode(first(headers, "author") ?? Buffer.alloc(0))),
    committer: parseIdentity(decode(first(headers, "committer") ?? Buffer.alloc(0))),
    message: decode(body),
    signature: (first(headers, "gpgsig") ?? first(headers, "gpgsig-sha256"))?.toString() ?? null,
  };
}

export function parseTag(id: string, data: Buffer): TagObject {
  const { headers, body } = split(data);
  const decode = decoderOf(first(headers, "encoding"));
  const tagger = first(headers, "tagger");
  return {
    id,
    targetId: first(headers, "object")?.toString("latin1") ?? "",
    targetType: (first(headers, "type")?.toString("latin1") ?? "commit") as ObjectType,
    name: decode(first(headers, "tag") ?? Buffer.alloc(0)),
    tagger: tagger === undefined ? null : parseIdentity(decode(tagger)),
    message: withoutSignature(decode(body)),
  };
}

/** Entries of a tree in git's order. Names are UTF-8; bytes that are not become U+FFFD. */
export function parseTree(data: Buffer, idBytes: 20 | 32): readonly TreeEntry[] {
  const entries: TreeEntry[] = [];
  let at = 0;
  while (at < data.length) {
    const space = data.indexOf(0x20, at);
    const end = data.indexOf(0, space);
    if (space < 0 || end < 0 || end + 1 + idBytes > data.length) throw new Error("Malformed tree");
    const mode = Number.parseInt(data.toString("latin1", at, space), 8);
    entries.push({
      name: data.toString("utf8", space + 1, end),
      id: data.toString("hex", end + 1, end + 1 + idBytes),
      kind: kindOf(mode),
    });
    at = end + 1 + idBytes;
  }
  return entries;
}

/** First paragraph in one line, as `git log --format=%s`. */
export function subjectOf(message: string): string {
  const paragraph = message.replace(/^\s*\n/, "").split(/\n[ \t]*\n/, 1)[0] ?? "";
  return paragraph.trim().replace(/\s*\n\s*/g, " ");
}

function kindOf(mode: number): TreeEntryKind {
  switch (mode & 0o170000) {
    case 0o040000:
      return "directory";
    case 0o120000:
      return "symlink";
    case 0o160000:
      return "submodule";
    default:
      return (mode & 0o111) === 0 ? "file" : "executable";
  }
}

type Header = Readonly<{ key: string; value: Buffer }>;

/** Header lines up to the first empty line; a line that starts with a space continues the one before. */
function split(data: Buffer): Readonly<{ headers: readonly Header[]; body: Buffer }> {
  const headers: { key: string; value: Buffer }[] = [];
  let at = 0;
  while (at < data.length && data[at] !== 0x0a) {
    const newline = data.indexOf(0x0a, at);
    const end = newline < 0 ? data.length : newline;
    const line = data.subarray(at, end);
    const last = headers.at(-1);
    if (line[0] === 0x20 && last !== undefined) {
      last.value = Buffer.concat([last.value, Buffer.from("\n"), line.subarray(1)]);
    } else {
      const space = line.indexOf(0x20);
      headers.push({ key: line.toString("latin1", 0, space), value: line.subarray(space + 1) });
    }
    at = end + 1;
  }
  return { headers, body: data.subarray(Math.min(at + 1, data.length)) };
}

function first(headers: readonly Header[], key: string): Buffer | undefined {
  return headers.find((header) => header.key === key)?.value;
}

/** A commit may say that its text is not UTF-8; an encoding nobody knows is read as UTF-8. */
function decoderOf(encoding: Buffer | undefined): (bytes: Buffer) => string {
  try {
    const decoder = new TextDecoder(encoding?.toString("latin1") ?? "utf-8", { ignoreBOM: true });
    return (bytes) => decoder.decode(bytes);
  } catch {
    return (bytes) => bytes.toString("utf8");
  }
}

/** `Name <mail> 1700000000 +0100`; broken ones exist in old histories and give what can be read. */
function parseIdentity(text: string): Identity {
  const match = /^([^<]*)<?([^>]*)>?\s*(?:(-?\d+)\s*([+-]\d{1,4})?)?/.exec(text);
  const seconds = Number(match?.[3] ?? 0);
  const when = new Date(seconds * 1000);
  return {
    name: (match?.[1] ?? "").trim(),
    email: (match?.[2] ?? "").trim(),
    when: Number.isNaN(when.getTime()) ? new Date(0) : when,
    zone: match?.[4] ?? "+0000",
  };
}

function withoutSignature(message: string): string {
  return message.replace(
    /^-----BEGIN (?:PGP SIGNATURE|PGP MESSAGE|SSH SIGNATURE|SIGNED MESSAGE)-----$[\s\S]*/m,
    "",
  );
}
