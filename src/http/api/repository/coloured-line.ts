import { Answers } from "../../../git/answers.ts";
import { changedLines, changedLinesIn, type FileChange } from "../../../git/diff/diff.ts";
import { type PatchLine, textLines } from "../../../git/diff/patch.ts";
import type { LineRange, LineWindow } from "../../../git/diff/window.ts";
import { isNullObjectId } from "../../../git/name.ts";
import type { Repository } from "../../../git/repository.ts";
import { type Coloured, Highlighter } from "../../../platform/highlight.ts";
import type { ColouredLine } from "./changed-file-view.ts";

/** Larger files are shown without colours. */
const colouredBytesMax = 512 * 1024;

const highlighter = new Highlighter();
/** HTML of whole files by line. */
const cachedColours = new Answers<readonly string[] | null>(32 * 1024 ** 2, (lines) =>
  (lines ?? []).reduce((sum, line) => sum + 2 * line.length + 40, 0),
);

/**
 * The lines of a file's change, coloured as parts of the whole old and new file: a line inside a
 * comment that began long before is a comment.
 *
 * @returns complete: false when colours are missing that another time may be there
 */
export async function colouredLines(
  repository: Repository,
  change: FileChange,
): Promise<ColouredLines> {
  const lines = await changedLines(repository, change);
  return await withColours(repository, change, lines);
}

/** A part of them, of a large file too. */
export async function colouredWindow(
  repository: Repository,
  change: FileChange,
  range: LineRange,
): Promise<ColouredLines & Readonly<{ window: LineWindow }>> {
  const window = await changedLinesIn(repository, change, range);
  return { ...(await withColours(repository, change, window.lines)), window };
}

type ColouredLines = Readonly<{ lines: readonly ColouredLine[]; complete: boolean }>;

async function withColours(
  repository: Repository,
  change: FileChange,
  lines: readonly PatchLine[],
): Promise<ColouredLines> {
  const needsOld = lines.some(({ op }) => op === "remove");
  const needsNew = lines.some(({ added }) => added !== null);
  const [before, after] = await Promise.all([
    needsOld ? colouredFile(repository, change.oldMode, change.oldId, change.oldPath) : null,
    needsNew ? colouredFile(repository, change.newMode, change.newId, change.newPath) : null,
  ]);
  const all = lines.map((line) => {
    const { added, removed } = line;
    const html = added !== null ? after?.[added - 1] : before?.[(removed ?? 0) - 1];
    return { ...line, html };
  });
  return { lines: all, complete: before !== undefined && after !== undefined };
}

/** HTML of the lines of a file; null when it is shown without colours, undefined when it is so this time. */
export async function colouredFile(
  repository: Repository,
  mode: string,
  id: string,
  path: string,
): Promise<Coloured> {
  // Links and submodules are no sources of any language.
  if (!mode.startsWith("100") || isNullObjectId(id)) return null;
  const info = await repository.objects.info(id);
  if (info === undefined || info.bytes > colouredBytesMax) return null;
  const fileName = path.split("/").at(-1) ?? "";
  const key = `${id} ${fileName}`;
  const cached = cachedColours.peek(key);
  if (cached !== undefined) return cached;
  const content = (await repository.objects.blob(id)) ?? Buffer.alloc(0);
  const lines = await highlighter.lines(textLines(content).join("\n"), fileName);
  if (lines !== undefined) cachedColours.keep(key, lines);
  return lines;
}
