import { posix } from "node:path";
import { buffer } from "node:stream/consumers";
import type { ReadEntry } from "tar";

import { badFile } from "./coordinates.ts";
import { entryPaths, shadowOf } from "./entry-path.ts";
import { manifestBytesMax, manifestText } from "./manifest-text.ts";
import { entriesMax, inflatedBytesMax, isFile, readTar } from "./tar-reader.ts";

type Wanted = Readonly<{
  /** Of the path within the archive. */
  path: RegExp;
  /** The file in words. */
  name: string;
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
  { path, name, takesLinks = false }: Wanted,
  bytesMax = inflatedBytesMax,
): Promise<string> {
  let found: Buffer | undefined;
  const pathOf = entryPaths(entriesMax);
  const isShadow = shadowOf(path);
  await readTar(file, { compression: "gzip", bytesMax }, (entry) => {
    const isWanted = path.test(entry.path);
    if (!isWanted) mustStayInside(entry, pathOf, takesLinks);
    if (isShadow(entry.path) || (isWanted && found !== undefined)) {
      throw badFile(`It holds more than one ${name}.`);
    }
    if (!isWanted) return undefined;
    if (!isFile(entry)) throw badFile(`Its ${name} is no file.`);
    if (entry.size > manifestBytesMax) {
      throw badFile(`Its ${name} is over ${manifestBytesMax} bytes.`);
    }
    found = Buffer.alloc(0);
    return async (content) => {
      found = await buffer(content);
    };
  });
  if (found === undefined) throw badFile(`It holds no ${name}.`);
  return manifestText(found, name);
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
