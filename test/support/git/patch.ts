import { HunkReader, type PatchLine } from "../../../src/git/diff/patch.ts";
import { WindowReader } from "../../../src/git/diff/window.ts";

/** All lines of one file's patch. */
export function parsePatch(patch: Buffer): readonly PatchLine[] {
  const reader = new WindowReader({ offset: 0, limit: Number.POSITIVE_INFINITY });
  const hunks = new HunkReader();
  const take = (line: Buffer) => hunks.take(line);
  reader.push(patch, take);
  reader.endText(take);
  return reader.end().lines;
}
