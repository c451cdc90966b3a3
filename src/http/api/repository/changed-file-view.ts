import { z } from "zod";
import type { FileChange } from "../../../git/diff/diff.ts";
import type { PatchLine } from "../../../git/diff/patch.ts";
import { type LineRange, type LineWindow, partLines } from "../../../git/diff/window.ts";
import { isNullObjectId } from "../../../git/name.ts";
import { type Commit, type Identity, subjectOf } from "../../../git/object/object.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import { escapeHtml } from "../../../platform/highlight-html.ts";
import { extensionOf, hasImageName } from "../../core/file/type.ts";
import { instant, int } from "../../core/schema.ts";

const links = z.array(z.never()).max(0).meta({ description: "Deprecated: always empty." });

const DiffLineView = z
  .object({
    id: z.string(),
    body: z.string().meta({ description: "Without the newline." }),
    highLightBody: z.string().meta({
      description: "The body as HTML, escaped, with spans of highlight.js classes.",
    }),
    addLineNumber: z.int().nullable(),
    removeLineNumber: z.int().nullable(),
    op: z.enum(["none", "add", "remove"]),
    type: z.enum(["line", "separator"]).meta({
      description: "A separator stands where unchanged lines are left out.",
    }),
    links,
  })
  .meta({ id: "DiffLine" });

const AuthorView = z.object({ name: z.string(), emailAddress: z.string(), when: instant() });

/** Nothing but what the commit itself says, so that it is as lasting as the commit. */
const LastCommitView = z
  .object({
    hash: z.string(),
    shortMessage: z.string(),
    createdAt: instant(),
    authorIdent: AuthorView,
    committerIdent: AuthorView,
  })
  .meta({ id: "LastCommit" });

export const ChangedFileView = z
  .object({
    id: z.string(),
    newMode: z.string().meta({ description: "Octal; 0 for a removed file." }),
    oldMode: z.string().meta({ description: "Octal; 0 for an added file." }),
    newPath: z.string().meta({ description: "/dev/null for a removed file." }),
    oldPath: z.string().meta({ description: "/dev/null for an added file." }),
    lastCommit: LastCommitView.nullable().meta({
      description: "The last commit of those compared that touched the file, where it is near.",
    }),
    addedLinesCount: z.int(),
    removedLinesCount: z.int(),
    fileName: z.string(),
    filePath: z.string().meta({ description: "The new path; the old one of a removed file." }),
    fileExtension: z.string().meta({ description: "With its dot; `.null` when there is none." }),
    isImg: z.boolean(),
    isCollapsed: z
      .boolean()
      .meta({ description: "Many changes: its diff needs a request of its own." }),
    isLarge: z.boolean().meta({
      description: "Too many changes to be shown: the file has to be opened. It has no lines.",
    }),
    isBinary: z.boolean(),
    changeType: z.enum(["ADD", "MODIFY", "DELETE", "RENAME", "COPY"]),
    headers: z.array(z.string()).meta({ description: "As git prints them above the changes." }),
    lines: z.array(DiffLineView),
    linesTotal: z.int().optional().meta({
      description: "Lines of the whole diff; there when a part of them was requested.",
    }),
    links,
  })
  .meta({ id: "ChangedFile" });

const linesAtOnce = partLines;

/** Of a query: a part of the lines of one file's diff. */
export const lineRangeFields = {
  lineOffset: int({ min: 0, max: 1_000_000_000 }).optional().meta({
    description:
      "The first line of a part of the diff, from 0; 0 with `lineLimit` alone. Parts from multiples of 3 000 come fastest.",
  }),
  lineLimit: int({ min: 1, max: linesAtOnce })
    .optional()
    .meta({
      description: `So many lines are answered, of a large file too: ${linesAtOnce} with \`lineOffset\` alone. Those of a large file are cut after 4 096 bytes.`,
    }),
};

/** Undefined when no part was requested. */
export function lineRangeOf(
  query: Readonly<{ lineOffset?: number | undefined; lineLimit?: number | undefined }>,
): LineRange | undefined {
  const { lineOffset, lineLimit } = query;
  if (lineOffset === undefined && lineLimit === undefined) return undefined;
  return { offset: lineOffset ?? 0, limit: lineLimit ?? linesAtOnce };
}

type ChangedFile = z.input<typeof ChangedFileView>;

const changeTypes = {
  A: "ADD",
  M: "MODIFY",
  T: "MODIFY",
  D: "DELETE",
  R: "RENAME",
  C: "COPY",
} as const;

/** Lines of a diff with the HTML of each. */
export type ColouredLine = PatchLine & Readonly<{ html?: string | undefined }>;

type Lines = readonly ColouredLine[];
/** Lines of a diff that is not shown from its beginning. */
type Part = Readonly<{ lines: Lines; window: LineWindow }>;

/** @param part the requested lines of a diff */
export function partView(
  change: FileChange,
  between: string,
  lastCommit: Commit | undefined,
  { lines, window }: Part,
): ChangedFile {
  const view = changeView(change, between, lastCommit);
  const shown = lineViews(view.id, lines, window.before);
  return { ...view, lines: shown, linesTotal: window.total };
}

/**
 * @param between names what is compared: a change of the same file between the same two has the same id
 */
export function changeView(
  change: FileChange,
  between: string,
  lastCommit: Commit | undefined,
  lines: Lines = [],
): ChangedFile {
  const isAdded = isNullObjectId(change.oldId);
  const isRemoved = isNullObjectId(change.newId);
  const filePath = isRemoved ? change.oldPath : change.newPath;
  const fileName = filePath.split("/").at(-1) ?? "";
  const id = deterministicId("changed-file", between, change.oldPath, change.newPath);
  return {
    id,
    newMode: isRemoved ? "0" : change.newMode,
    oldMode: isAdded ? "0" : change.oldMode,
    newPath: isRemoved ? "/dev/null" : change.newPath,
    oldPath: isAdded ? "/dev/null" : change.oldPath,
    lastCommit: lastCommit === undefined ? null : lastCommitView(lastCommit),
    addedLinesCount: change.addedLines,
    removedLinesCount: change.removedLines,
    fileName,
    filePath,
    fileExtension: extensionOf(fileName),
    isImg: hasImageName(fileName),
    isCollapsed: change.isCollapsed,
    isLarge: change.isLarge,
    isBinary: change.isBinary,
    changeType: changeTypes[change.status],
    headers: [...change.headers],
    lines: lineViews(id, lines),
    links: [],
  };
}

/**
 * A line is named by where it stands in the old and the new file, which no two lines of one file
 * share, since each line advances the number in one of the two.
 */
function lineViews(
  fileId: string,
  lines: Lines,
  before: LineWindow["before"] = { removed: 0, added: 0 },
): ChangedFile["lines"] {
  let { removed, added } = before;
  return lines.map(({ type, op, body, html, ...numbers }) => {
    removed = numbers.removed ?? removed;
    added = numbers.added ?? added;
    const isRemark = numbers.added === null && numbers.removed === null;
    const suffix = isRemark ? `_${type === "separator" ? "separator" : "end"}` : "";
    return {
      id: `${fileId}_${removed}_${added}${suffix}`,
      body,
      highLightBody: html ?? escapeHtml(body),
      addLineNumber: numbers.added,
      removeLineNumber: numbers.removed,
      op,
      type,
      links: [],
    };
  });
}

/** A message of a megabyte is not repeated for each of ten thousand files. */
const briefLength = 200;

function lastCommitView(commit: Commit): z.input<typeof LastCommitView> {
  return {
    hash: commit.id,
    shortMessage: brief(subjectOf(commit.message)),
    createdAt: commit.committer.when,
    authorIdent: presentAuthor(commit.author),
    committerIdent: presentAuthor(commit.committer),
  };
}

const presentAuthor = ({ name, email, when }: Identity): z.input<typeof AuthorView> => ({
  name: brief(name),
  emailAddress: brief(email),
  when,
});

function brief(text: string): string {
  if (text.length <= briefLength) return text;
  // Not between the two halves of a character.
  return `${text.slice(0, briefLength).replace(/[\ud800-\udbff]$/, "")}…`;
}
