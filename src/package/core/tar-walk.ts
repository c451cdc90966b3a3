import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";

import { badFile } from "./coordinates.ts";
import { entryPaths, shadowOf } from "./entry-path.ts";
import { manifestBytesMax, manifestText } from "./manifest-text.ts";
import { entriesMax, inflatedBytesMax, isFile, readTar } from "./tar-reader.ts";

export type TarEntry = Readonly<{ path: string; bytes: number; isFile: boolean }>;

export type WantedFile = Readonly<{
  /** Of the path within the archive. */
  path: RegExp;
  /** The file in words. */
  name: string;
}>;

/**
 * Finds the one file whose path fits among all entries of an archive: two such files could be read in two ways.
 * Both functions throw Refusal 422.
 */
export function oneFile({ path, name }: WantedFile) {
  const isShadow = shadowOf(path);
  let found: Buffer | undefined;
  return {
    entry(entry: TarEntry): ((content: Readable) => Promise<void>) | undefined {
      const isWanted = path.test(entry.path);
      if (isShadow(entry.path) || (isWanted && found !== undefined)) {
        throw badFile(`It holds more than one ${name}.`);
      }
      if (!isWanted) return undefined;
      if (!entry.isFile) throw badFile(`Its ${name} is no file.`);
      if (entry.bytes > manifestBytesMax) {
        throw badFile(`Its ${name} is over ${manifestBytesMax} bytes.`);
      }
      found = Buffer.alloc(0);
      return async (content) => {
        found = await buffer(content);
      };
    },
    /** Of the file, once all of the archive was read. */
    text(): string {
      if (found === undefined) throw badFile(`It holds no ${name}.`);
      return manifestText(found, name);
    },
  };
}

export type TarWalk = Readonly<{
  compression: "gzip" | "none";
  entriesMax?: number;
  /** Of everything in it. */
  bytesMax?: number;
  /** Given for every entry; what it answers reads the content to its end. @throws Refusal */
  entry: (entry: TarEntry) => ((content: Readable) => Promise<void>) | undefined;
}>;

/**
 * Walks through a whole tar archive, refusing links and devices, and what unpacks to too much, leads out of it
 * or would be read in two ways.
 *
 * @throws Refusal 422
 */
export async function walkTar(file: string, walk: TarWalk): Promise<void> {
  const { compression, bytesMax = inflatedBytesMax } = walk;
  const pathOf = entryPaths(walk.entriesMax ?? entriesMax, { foldsCase: true });
  await readTar(file, { compression, bytesMax }, (entry) => {
    const isDirectory = entry.type === "Directory";
    const path = pathOf(isDirectory ? `${entry.path}/` : entry.path);
    if (!isFile(entry) && !isDirectory) throw badFile("It holds a link or a device.");
    if (path === "") return undefined;
    return walk.entry({ path, bytes: entry.size, isFile: isFile(entry) });
  });
}

/** The text of the one file whose path fits, of an archive that is walked through. @throws Refusal 422 */
export async function tarFileText(
  file: string,
  wanted: WantedFile,
  walk: Omit<TarWalk, "entry">,
  check: (entry: TarEntry) => void,
): Promise<string> {
  const found = oneFile(wanted);
  await walkTar(file, {
    ...walk,
    entry(entry) {
      check(entry);
      return found.entry(entry);
    },
  });
  return found.text();
}
