import { z } from "zod";

import type { DiscussionLine } from "../../../events/merge-request/discussion.ts";
import { repositoryPath } from "../../../git/name.ts";
import type { Repository } from "../../../git/repository.ts";
import { Refusal } from "../../../platform/refusal.ts";
import type { Comparison } from "../../../services/merge-request/compare.ts";
import { isOneLine } from "../../../services/merge-request/follow-line.ts";
import { fieldRefusal, int, invalid } from "../../core/schema.ts";

const pathLengthMax = 4_096;
/** Larger files have no lines that are shown. */
const fileBytesMax = 15 * 1024 ** 2;
const noFile = "/dev/null";

const Line = int({ min: 0 }).nullish().meta({ description: "0 where that side has no such line." });
const Path = z.string().min(1).max(pathLengthMax).nullish();

/** All four or none. */
export const LineFields = z.object({ newLine: Line, oldLine: Line, newPath: Path, oldPath: Path });
type LineFields = z.output<typeof LineFields>;

type Sides = Readonly<{
  comparison: Pick<Comparison, "baseId" | "baseTree" | "sourceTree">;
  sourceCommit: string;
}>;

/**
 * The line that a discussion is about; null for none.
 *
 * @throws Refusal 422 `request.invalid` when one of the four fields is missing, `discussion.line_not_found`
 */
export async function lineIn(
  fields: LineFields,
  repository: Repository,
  { comparison, sourceCommit }: Sides,
): Promise<DiscussionLine | null> {
  const { newLine, oldLine, newPath, oldPath } = fields;
  const given = Object.entries({ newLine, oldLine, newPath, oldPath });
  const missing = given.filter(([, value]) => value === undefined || value === null);
  if (missing.length === given.length) return null;
  if (missing.length > 0) {
    throw invalid(
      missing.map(([field]) => ({
        field,
        code: "error.field.empty",
        message: "A discussion about a line needs all four fields.",
      })),
    );
  }
  const line = {
    newPath: newPath ?? "",
    oldPath: oldPath ?? "",
    newLine: newLine || null,
    oldLine: oldLine || null,
  };
  if (line.newLine === null && line.oldLine === null) throw noSuchLine("newLine");
  const after = { field: "newLine", path: line.newPath, line: line.newLine };
  const before = { field: "oldLine", path: line.oldPath, line: line.oldLine };
  await mustHold(repository, sourceCommit, after);
  await mustHold(repository, comparison.baseId, before);
  const { baseTree, sourceTree } = comparison;
  const hasBoth = line.newLine !== null && line.oldLine !== null;
  const isPair = ![line.newPath, line.oldPath].includes(noFile) && line.newPath !== line.oldPath;
  const trees = { before: baseTree, after: sourceTree };
  if ((hasBoth || isPair) && !(await isOneLine(repository, line, trees)))
    throw noSuchLine("oldLine");
  return line;
}

type LineRef = Readonly<{ field: string; path: string; line: number | null }>;

async function mustHold(
  { objects }: Repository,
  commitId: string | null,
  { field, path, line }: LineRef,
): Promise<void> {
  if (line === null) return;
  if (commitId === null || path === noFile) throw noSuchLine(field);
  const parts = partsOf(path);
  const entry = parts && (await objects.entry(commitId, parts));
  const info = entry && (await objects.info(entry.id));
  if (info?.type !== "blob" || info.bytes > fileBytesMax) throw noSuchLine(field);
  const blob = (await objects.blob(info.id)) ?? Buffer.alloc(0);
  if (linesOf(blob) < line) throw noSuchLine(field);
}

/** Undefined for a path that no repository can have. */
function partsOf(path: string): readonly string[] | undefined {
  try {
    return repositoryPath(path);
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

function linesOf(blob: Buffer): number {
  const newline = 10;
  let count = 0;
  for (let at = blob.indexOf(newline); at >= 0; at = blob.indexOf(newline, at + 1)) count += 1;
  return blob.length > 0 && blob.at(-1) !== newline ? count + 1 : count;
}

function noSuchLine(field: string): Refusal {
  const message = "There is no such line in this version of the file.";
  return fieldRefusal(field, "discussion.line_not_found", message);
}
