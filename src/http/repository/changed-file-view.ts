import { z } from "zod";

import { deterministicId } from "../../platform/deterministic-id.ts";
import type { FileChange } from "../../platform/git/diff/diff.ts";
import type { PatchLine } from "../../platform/git/diff/patch.ts";
import { isNullObjectId } from "../../platform/git/name.ts";
import { type Commit, type Identity, subjectOf } from "../../platform/git/object/object.ts";
import { escapeHtml } from "../../platform/highlight-html.ts";
import { instant } from "../core/schema.ts";
import { extensionOf, hasImageName } from "../file/type.ts";

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
      .meta({ description: "Many changes: its diff is asked for by itself." }),
    isLarge: z.boolean().meta({
      description: "Too many changes to be shown: the file has to be opened. It has no lines.",
    }),
    isBinary: z.boolean(),
    changeType: z.enum(["ADD", "MODIFY", "DELETE", "RENAME", "COPY"]),
    headers: z.array(z.string()).meta({ description: "As git prints them above the changes." }),
    lines: z.array(DiffLineView),
    links,
  })
  .meta({ id: "ChangedFile" });

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

/**
 * @param between names what is compared: a change of the same file between the same two has the same id
 */
export function presentChange(
  change: FileChange,
  between: string,
  lastCommit: Commit | undefined,
  lines: readonly ColouredLine[] = [],
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
    lastCommit: lastCommit === undefined ? null : presentLastCommit(lastCommit),
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
    lines: presentLines(id, lines),
    links: [],
  };
}

/**
 * A line is named by where it stands in the old and the new file, which no two lines of one file
 * share, since each of them is a step on in one of the two.
 */
function presentLines(fileId: string, lines: readonly ColouredLine[]): ChangedFile["lines"] {
  let removed = 0;
  let added = 0;
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

function presentLastCommit(commit: Commit): z.input<typeof LastCommitView> {
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
