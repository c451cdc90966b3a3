import { breather } from "../../platform/breather.ts";

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
  /** Whether the message is whole; see `textBytesMax`. */
  isWhole: boolean;
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

/**
 * Of a message or a signature, and of a person's line. What is longer was not written to be read, and a
 * page holds two hundred of them: it is cut.
 */
const textBytesMax = 64 * 1024;
const identityBytesMax = 4 * 1024;
/** Git's own strategy for many parents gives up far below. */
const parentsMax = 1_000;

export function parseCommit(id: string, data: Buffer): Commit {
  const { headers, body } = split(data);
  const decode = decoderOf(first(headers, "encoding"));
  const signature = first(headers, "gpgsig") ?? first(headers, "gpgsig-sha256");
  return {
    id,
    treeId: first(headers, "tree")?.toString("latin1") ?? "",
    parentIds: (headers.get("parent") ?? []).map((parent) => parent.toString("latin1")),
    author: parseIdentity(decode(cut(first(headers, "author") ?? noBytes, identityBytesMax))),
    committer: parseIdentity(decode(cut(first(headers, "committer") ?? noBytes, identityBytesMax))),
    message: decode(cut(body, textBytesMax)),
    isWhole: body.length <= textBytesMax,
    signature: signature === undefined ? null : cut(signature, textBytesMax).toString(),
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
    name: decode(cut(first(headers, "tag") ?? noBytes, identityBytesMax)),
    tagger: tagger === undefined ? null : parseIdentity(decode(cut(tagger, identityBytesMax))),
    message: withoutSignature(decode(cut(body, textBytesMax))),
  };
}

/** Entries of a tree in git's order. Names are UTF-8; bytes that are not become U+FFFD. */
export async function parseTree(data: Buffer, idBytes: 20 | 32): Promise<readonly TreeEntry[]> {
  const entries: TreeEntry[] = [];
  const breathe = breather();
  let at = 0;
  while (at < data.length) {
    // 32 MiB, the largest that is read, are a million entries.
    if (entries.length % 1_000 === 999) await breathe();
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

/**
 * First paragraph in one line, as `git log --format=%s`. In one pass: a message comes from anybody, and an
 * expression that looks for space before line ends takes the square of its length.
 */
export function subjectOf(message: string): string {
  const lines: string[] = [];
  for (let at = 0; at < message.length; ) {
    const newline = message.indexOf("\n", at);
    const end = newline < 0 ? message.length : newline;
    const line = message.slice(at, end).trim();
    if (line !== "") lines.push(line);
    else if (lines.length > 0) break;
    at = end + 1;
  }
  return lines.join(" ");
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

/** Where the text of a header stands, and the lines that continue it. */
type Header = { readonly from: number; to: number };
type Headers = ReadonlyMap<string, readonly Buffer[]>;

/** What is read here, with how often it counts; a commit may have any number of other headers. */
const known: ReadonlyMap<string, number> = new Map([
  ...["tree", "author", "committer", "encoding", "gpgsig", "gpgsig-sha256"].map(once),
  ...["object", "type", "tag", "tagger"].map(once),
  ["parent", parentsMax],
]);

/**
 * Header lines up to the first empty line; a line that starts with a space continues the one before. Lines may be
 * hundreds of thousands, which takes least time in a text whose characters are the bytes.
 */
function split(data: Buffer): Readonly<{ headers: Headers; body: Buffer }> {
  const text = data.toString("latin1");
  const found = new Map<string, Header[]>();
  let last: Header | undefined;
  let at = 0;
  while (at < text.length && text[at] !== "\n") {
    const newline = text.indexOf("\n", at);
    const end = newline < 0 ? text.length : newline;
    if (text[at] === " ") extend(last, end);
    else {
      const key = keyOf(text.slice(at, Math.min(end, at + keyLengthMax + 1)));
      const same = found.get(key) ?? [];
      last = undefined;
      if (same.length < (known.get(key) ?? 0)) {
        last = { from: at + key.length + 1, to: end };
        same.push(last);
        found.set(key, same);
      }
    }
    at = end + 1;
  }
  const headers = new Map([...found].map(([key, all]) => [key, all.map(valueIn(text))]));
  return { headers, body: data.subarray(Math.min(at + 1, data.length)) };
}

function once(key: string): readonly [string, number] {
  return [key, 1];
}

const keyLengthMax = 16;

/** Of a line that names none, nothing. */
const keyOf = (line: string): string => line.slice(0, Math.max(0, line.indexOf(" ")));

/** Beyond what is kept of any text nothing is gathered: of a line that is empty, one of its two bytes. */
function extend(header: Header | undefined, end: number): void {
  if (header !== undefined && header.to - header.from <= 2 * textBytesMax) header.to = end;
}

const valueIn =
  (text: string) =>
  ({ from, to }: Header): Buffer =>
    Buffer.from(text.slice(from, to).replaceAll("\n ", "\n"), "latin1");

const noBytes = Buffer.alloc(0);

/** Not in the middle of a character of UTF-8. */
function cut(bytes: Buffer, bytesMax: number): Buffer {
  if (bytes.length <= bytesMax) return bytes;
  let end = bytesMax;
  while (end > bytesMax - 4 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.subarray(0, end);
}

const first = (headers: Headers, key: string): Buffer | undefined => headers.get(key)?.[0];

/** A commit may name an encoding other than UTF-8; an unknown one is read as UTF-8. */
function decoderOf(encoding: Buffer | undefined): (bytes: Buffer) => string {
  try {
    const decoder = new TextDecoder(encoding?.toString("latin1") ?? "utf-8", { ignoreBOM: true });
    return (bytes) => decoder.decode(bytes);
  } catch {
    return (bytes) => bytes.toString("utf8");
  }
}

/** ISO 8601 writes years from 0000 to 9999: what git dates before or after is read as the nearest. */
const secondsMin = Date.parse("0000-01-01T00:00:00Z") / 1000;
const secondsMax = Date.parse("9999-12-31T23:59:59Z") / 1000;

/** `Name <mail> 1700000000 +0100`; broken ones exist in old histories and give what can be read. */
function parseIdentity(text: string): Identity {
  const match = /^([^<]*)<?([^>]*)>?\s*(?:(-?\d+)\s*([+-]\d{1,4})?)?/.exec(text);
  const seconds = Number(match?.[3] ?? 0);
  const when = new Date(Math.min(Math.max(seconds, secondsMin), secondsMax) * 1000);
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
