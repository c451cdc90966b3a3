import { posix } from "node:path";
import type { ReadEntry } from "tar";

import { badFile } from "./coordinates.ts";
import { entryPaths } from "./entry-path.ts";
import { entriesMax, inflatedBytesMax, isFile, readTar } from "./tar-reader.ts";
import { oneFile, type WantedFile } from "./tar-walk.ts";

type Wanted = WantedFile &
  Readonly<{
    /** Links to what is in the archive itself are refused unless they are taken; devices always are. */
    takesLinks?: boolean;
  }>;

/**
 * The text of the one file of a gzipped tar archive whose path fits. All of
 * the archive is looked through, because two such files could be read in two ways, and what clients unpack must
 * not lead out of their directory.
 *
 * @throws Refusal 422
 */
export async function readTarEntry(
  file: string,
  { takesLinks = false, ...wanted }: Wanted,
  bytesMax = inflatedBytesMax,
): Promise<string> {
  const pathOf = entryPaths(entriesMax);
  const found = oneFile(wanted);
  await readTar(file, { compression: "gzip", bytesMax }, (entry) => {
    if (!wanted.path.test(entry.path)) mustStayInside(entry, pathOf, takesLinks);
    return found.entry({ path: entry.path, bytes: entry.size, isFile: isFile(entry) });
  });
  return found.text();
}

/** @throws Refusal 422 */
function mustStayInside(
  entry: ReadEntry,
  pathOf: (path: string) => string,
  takesLinks: boolean,
): void {
  const { type, linkpath = "" } = entry;
  const path = pathOf(type === "Directory" ? `${entry.path}/` : entry.path);
  if (type === "Directory" || isFile(entry)) return;
  const isLink = type === "Link" || type === "SymbolicLink";
  if (!isLink || !takesLinks) throw badFile("It holds a link or a device.");
  // A hard link names a path of the archive, a symbolic one starts where it stands.
  const target = posix.join(type === "Link" ? "" : posix.dirname(path), linkpath);
  if (posix.isAbsolute(linkpath) || target === ".." || target.startsWith("../")) {
    throw badFile("It holds a link that leads out of it.");
  }
}
