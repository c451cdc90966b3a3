import { buffer } from "node:stream/consumers";
import type { Entry, ZipFile } from "yauzl";

import type { Refusal } from "../../platform/refusal.ts";
import { badFile } from "./coordinates.ts";
import { entryPaths, shadowOf } from "./entry-path.ts";
import { manifestBytesMax, manifestText } from "./manifest-text.ts";
import { mustBePlain, withZip } from "./zip-walk.ts";

type Wanted = Readonly<{
  /** Of the path within the archive. */
  path: RegExp;
  /** The file in words. */
  name: string;
  /** Files that have to be there too, once each; their contents are not read. */
  beside?: readonly Readonly<{ path: RegExp; name: string }>[];
  /** Is given the path of each file. */
  seen?: (path: string) => void;
}>;

/** The list of files is walked through; a package has thousands of them at most. */
const entriesMax = 100_000;

/**
 * The text of the one file of a zip archive whose path fits; of several, of the one at the root.
 * Nothing is unpacked to disk. Links, and what other readers could read in another way, are refused.
 *
 * @throws Refusal 422
 */
export async function readZipEntry(file: string, wanted: Wanted): Promise<string> {
  return manifestText(await readZipBytes(file, wanted, manifestBytesMax), wanted.name);
}

/** The same for a file that is no text. @throws Refusal 422 */
export const readZipBytes = (file: string, wanted: Wanted, bytesMax: number): Promise<Buffer> =>
  withZip(file, entriesMax, (archive) => readEntry(archive, wanted, bytesMax));

async function readEntry(
  archive: ZipFile,
  { path, name, beside = [], seen }: Wanted,
  bytesMax: number,
): Promise<Buffer> {
  const pathOf = entryPaths(entriesMax);
  const isShadow = shadowOf(path);
  const fitting: Entry[] = [];
  const others = new Map(beside.map((other) => [other, 0]));
  for await (const entry of archive.eachEntry()) {
    await mustBePlain(archive, entry);
    const { fileName } = entry;
    seen?.(fileName);
    for (const [other, count] of others) {
      if (other.path.test(fileName)) others.set(other, count + 1);
    }
    if (path.test(fileName)) fitting.push(entry);
    else if (isShadow(pathOf(fileName))) throw moreThanOne(name);
  }
  for (const [other, count] of others) {
    if (count === 0) throw badFile(`It holds no ${other.name}.`);
    if (count > 1) throw moreThanOne(other.name);
  }
  const entry = onlyOne(fitting, name);
  if (entry.uncompressedSize > bytesMax) throw badFile(`Its ${name} is over ${bytesMax} bytes.`);
  // More bytes than the size says end the stream with an error.
  return buffer(await archive.openReadStreamPromise(entry));
}

function onlyOne(fitting: readonly Entry[], name: string): Entry {
  const atRoot = fitting.filter(({ fileName }) => !fileName.includes("/"));
  const [entry, ...more] = atRoot.length > 0 ? atRoot : fitting;
  if (entry === undefined) throw badFile(`It holds no ${name}.`);
  if (more.length > 0) throw moreThanOne(name);
  return entry;
}

const moreThanOne = (name: string): Refusal => badFile(`It holds more than one ${name}.`);
