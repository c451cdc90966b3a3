/** One line of a CODEOWNERS file: files that match belong to these owners. */
export type OwnerEntry = Readonly<{
  /** Glob as GitLab reads it, normalised: it begins with a slash. */
  pattern: string;
  /** As written: `@alias`, `@@role`, an address. Without any, no approval is required. */
  owners: readonly string[];
  /** Matching files need no approval of this section. */
  excludes: boolean;
}>;

export type OwnerSection = Readonly<{
  /** As first written; empty for what stands before the first section. */
  name: string;
  /** Nobody has to agree. */
  optional: boolean;
  /** Owners of each entry that have to agree. */
  approvals: number;
  entries: readonly OwnerEntry[];
}>;

type Draft = { -readonly [Key in keyof OwnerSection]: OwnerSection[Key] } & {
  entries: OwnerEntry[];
  defaults: readonly string[];
};

/** `[Name]`, `^[Name]`, `[Name][2]`, each with default owners after it. */
const header = /^(\^)?\[([^\]]+)\](?:\[(\d{1,4})\])?(?:\s+(.*))?$/s;
const owner = /^(?:@@?[A-Za-z0-9_][A-Za-z0-9._/-]*|[^@\s]+@[^@\s]+)$/;

/**
 * Reads a CODEOWNERS file in the syntax of GitLab. Sections of the same name, in any case, are one. A line
 * that is malformed names no owners.
 */
export function parseCodeOwners(text: string): readonly OwnerSection[] {
  const sections = new Map<string, Draft>();
  let current = sectionNamed(sections, "", { optional: false, approvals: 1, defaults: [] });
  for (const raw of text.split(/\r?\n/)) {
    const line = raw.trim();
    if (line === "" || line.startsWith("#")) continue;
    const [, optional, name, approvals, defaults] = header.exec(line) ?? [];
    if (name !== undefined) {
      current = sectionNamed(sections, name.trim(), {
        optional: optional !== undefined,
        approvals: Math.max(1, Number(approvals ?? 1)),
        defaults: ownersIn(defaults ?? ""),
      });
    } else current.entries.push(entryOf(line, current.defaults));
  }
  return [...sections.values()]
    .filter(({ entries }) => entries.length > 0)
    .map(({ defaults: _, ...section }) => section);
}

function sectionNamed(
  sections: Map<string, Draft>,
  name: string,
  wanted: Pick<Draft, "optional" | "approvals" | "defaults">,
): Draft {
  const known = sections.get(name.toLowerCase());
  if (known === undefined) {
    const made = { name, entries: [], ...wanted };
    sections.set(name.toLowerCase(), made);
    return made;
  }
  // Written twice: what is demanded anywhere is demanded, and the newest owners are the default.
  known.optional &&= wanted.optional;
  known.approvals = Math.max(known.approvals, wanted.approvals);
  known.defaults = wanted.defaults;
  return known;
}

function entryOf(line: string, defaults: readonly string[]): OwnerEntry {
  const excludes = line.startsWith("!");
  const [path, rest] = splitPath(excludes ? line.slice(1) : line);
  const owners = ownersIn(rest);
  const own = owners.length > 0 || excludes ? owners : defaults;
  return { pattern: normalise(path), owners: own, excludes };
}

/** Up to the first space that no backslash stands before. */
function splitPath(line: string): readonly [path: string, rest: string] {
  for (let at = 0; at < line.length; at += 1) {
    if (line[at] === "\\") at += 1;
    else if (line[at] === " " || line[at] === "\t") return [line.slice(0, at), line.slice(at)];
  }
  return [line, ""];
}

function ownersIn(text: string): readonly string[] {
  const owners: string[] = [];
  for (const word of text.split(/\s+/)) {
    // A remark after the owners.
    if (word.startsWith("#")) break;
    if (owner.test(word)) owners.push(word);
  }
  return owners;
}

function normalise(path: string): string {
  if (path === "*") return "/**/*";
  const rooted = path.startsWith("/") ? path : `/**/${path}`;
  return rooted.endsWith("/") ? `${rooted}**/*` : rooted;
}
