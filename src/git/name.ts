import { z } from "zod";

import { Refusal } from "../platform/refusal.ts";
import { trimmedOf, withoutTrailing } from "../platform/trim.ts";

export const nullObjectId = (like: string): string => "0".repeat(like.length);
export const isNullObjectId = (id: string): boolean => /^0+$/.test(id);

/** Whether the text is a full object id; abbreviations may mean something else tomorrow. */
export const isObjectId = (text: string): boolean => /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text);

/** Longest ref that still fits a file name with ".lock" on every file system we run on. */
const refBytesMax = 240;

/**
 * The rules of git-check-ref-format(1) for a full name, and no leading dash in what follows
 * `refs/heads/`, `refs/tags/` or `refs/notes/`, as git itself demands of a branch (`--branch`).
 */
export function isRefName(ref: string): boolean {
  const match = /^refs\/(?:heads|tags|notes)\/(.+)$/s.exec(ref);
  const name = match?.[1];
  if (name === undefined || Buffer.byteLength(ref) > refBytesMax) return false;
  if (name.startsWith("-") || ref.endsWith(".") || ref.includes("..") || ref.includes("@{")) {
    return false;
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused.
  if (/[\x00-\x20\x7f~^:?*[\\]/.test(ref)) return false;
  return ref
    .split("/")
    .every((part) => part !== "" && !part.startsWith(".") && !part.endsWith(".lock"));
}

/**
 * Whether a ref may be made by clients. A branch called HEAD would hide the real one, a tag of that name is
 * ambiguous (git refuses to make it); a branch or tag named like a full hash would hide the commit of that hash.
 */
export function isNewRefName(ref: string): boolean {
  const name = ref.replace(/^refs\/(?:heads|tags)\//, "");
  return isRefName(ref) && name !== "HEAD" && !isObjectId(name.toLowerCase());
}

/** `main`, `release/1.0`: what follows `refs/heads/`. */
export const BranchName = z
  .string()
  .max(refBytesMax, { abort: true })
  .refine((name) => isNewRefName(`refs/heads/${name}`), "Not a branch name.")
  .brand("BranchName");
export type BranchName = z.output<typeof BranchName>;

/** `v1.0`: what follows `refs/tags/`. */
export const TagName = z
  .string()
  .max(refBytesMax, { abort: true })
  .refine((name) => isNewRefName(`refs/tags/${name}`), "Not a tag name.")
  .brand("TagName");
export type TagName = z.output<typeof TagName>;

const pathBytesMax = 4096;
/** Code points HFS+ ignores when it compares names: U+200C–200F, 202A–202E, 206A–206F, FEFF. */
const hfsIgnored = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/gu;

/**
 * The parts of a path inside a repository; [] is its root. A path that could mean anything else on
 * some file system is answered like one that does not exist.
 *
 * @throws Refusal not_found `blob.not_found`
 */
export function repositoryPath(path: string): readonly string[] {
  const isTooLong = Buffer.byteLength(path) > pathBytesMax;
  const trimmed = isTooLong ? "" : trimmedOf(path, "/");
  const parts = trimmed === "" ? [] : trimmed.split("/");
  if (isTooLong || !parts.every(isPathPart)) {
    throw new Refusal("not_found", "blob.not_found", "There is no such file.");
  }
  return parts;
}

/** What a checkout on every file system we know of can hold as one name. */
const partBytesMax = 255;

/**
 * Whether a file may be put there: as strict as git's own checks of what comes in, which check
 * names as every file system would, and nothing that has to be put right before it is a path.
 */
export function isWritablePath(path: string): boolean {
  const wellFormed = Buffer.from(path).toString() === path;
  // Bytes that are not UTF-8 are shown as this character, so a name with it may be another file's.
  if (!wellFormed || path.includes("\ufffd") || Buffer.byteLength(path) > pathBytesMax)
    return false;
  return path.split("/").every(
    (part) =>
      Buffer.byteLength(part) <= partBytesMax &&
      // A backslash is a border to some.
      isPathPart(part) &&
      part.split("\\").every((piece) => piece === "" || isPathPart(piece)),
  );
}

function isPathPart(part: string): boolean {
  if (part === "" || part === "." || part === ".." || part.includes("\0")) return false;
  return !isDotGit(part);
}

/** `.git` as HFS+ and NTFS would read it: case, ignorable code points, short names, streams. */
function isDotGit(part: string): boolean {
  // Nearly every name there is: begins with no dot, ends with none, holds nothing that is folded away.
  if (/^[\w-](?:[\w.-]*[\w-])?$/.test(part)) return false;
  const [file = ""] = part.replace(hfsIgnored, "").toLowerCase().split(":", 1);
  const plain = withoutTrailing(file, ". ");
  return plain === ".git" || /^git~\d+$/.test(plain);
}
