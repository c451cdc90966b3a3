import path from "node:path";
import type { Readable } from "node:stream";
import type { Entry, ZipFile } from "yauzl";

import { badFile } from "../core/coordinates.ts";
import { entryPaths } from "../core/entry-path.ts";
import { mustBePlain, withZip } from "../core/zip-walk.ts";
import { portablePdbGuid } from "./portable-pdb.ts";

const entriesMax = 10_000;
/** Each becomes a file of the version. */
const pdbsMax = 500;
const headBytesMax = 64 * 1024;
/** With the GUID it is the name of a file of the version, whose bytes are bounded. */
const nameBytesMax = 200;
/** learn.microsoft.com/nuget/create-packages/symbol-packages-snupkg, "Symbol package constraints". */
const extensions = new Set([".pdb", ".nuspec", ".xml", ".psmdcp", ".rels", ".p7s"]);

export type Pdb = Readonly<{
  /** As the debugger knows it: `Acme.Pad.pdb`. */
  name: string;
  /** 32 digits in upper case. */
  guid: string;
  bytes: number;
}>;

/** The requested path of a symbol file, without regard to case. */
export const symbolKey = ({ name, guid }: Pick<Pdb, "name" | "guid">): string =>
  `${name}/${guid}`.toLowerCase();

/** Symbols of several frameworks have one name. */
export const pdbFileName = ({ name, guid }: Pick<Pdb, "name" | "guid">): string =>
  `${name.slice(0, -".pdb".length)}.${guid}.pdb`;

type Found = Readonly<{ pdb: Pdb; entry: Entry }>;

export type SymbolLimits = Readonly<{
  /** Of all in it, unpacked. */
  bytesMax: number;
  /** Runs before the first PDB is given. @throws Refusal */
  check: (pdbs: readonly Pdb[]) => Promise<void>;
}>;

/**
 * Gives the PDBs of a symbol package one after another, each once, after all of the archive's list was checked. No
 * more than its head is in memory of any.
 *
 * @throws Refusal 422; what `check` and `take` throw
 */
export async function takePdbs(
  file: string,
  { bytesMax, check }: SymbolLimits,
  take: (pdb: Pdb, content: Readable) => Promise<void>,
): Promise<void> {
  await withZip(file, entriesMax, async (archive) => {
    const found = await pdbsOf(archive, bytesMax);
    await check(found.map(({ pdb }) => pdb));
    for (const { pdb, entry } of found) {
      await take(pdb, await archive.openReadStreamPromise(entry));
    }
  });
}

async function pdbsOf(archive: ZipFile, bytesMax: number): Promise<readonly Found[]> {
  const pathOf = entryPaths(entriesMax, { foldsCase: true });
  const found = new Map<string, Found>();
  let bytes = 0;
  for await (const entry of archive.eachEntry()) {
    const at = pathOf(entry.fileName);
    bytes += entry.uncompressedSize;
    if (bytes > bytesMax) throw badFile(`It unpacks to more than ${bytesMax} bytes.`);
    await mustBePlain(archive, entry);
    if (entry.fileName.endsWith("/")) continue;
    mustBeOfSymbols(at);
    if (!at.toLowerCase().endsWith(".pdb")) continue;
    const name = path.posix.basename(at);
    if (Buffer.byteLength(name) > nameBytesMax || /\p{Cc}/u.test(name)) {
      throw badFile(`A name of a PDB has ${nameBytesMax} bytes at most and no controls.`);
    }
    const guid = portablePdbGuid(name, await headOf(archive, entry));
    const pdb = { name, guid, bytes: entry.uncompressedSize };
    if (!found.has(symbolKey(pdb))) found.set(symbolKey(pdb), { pdb, entry });
    if (found.size > pdbsMax) throw badFile(`A symbol package has at most ${pdbsMax} PDBs.`);
  }
  if (found.size === 0) throw badFile("It holds no PDB.");
  return [...found.values()];
}

/** @throws Refusal 422 */
function mustBeOfSymbols(at: string): void {
  // `.rels` has nothing before its dot.
  const [extension = ""] = /\.[^./]*$/.exec(at) ?? [];
  if (extensions.has(extension.toLowerCase())) return;
  throw badFile(`A symbol package holds no ${path.posix.basename(at).slice(0, nameBytesMax)}.`);
}

async function headOf(archive: ZipFile, entry: Entry): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of await archive.openReadStreamPromise(entry)) {
    chunks.push(chunk as Buffer);
    bytes += (chunk as Buffer).length;
    if (bytes >= headBytesMax) break;
  }
  return Buffer.concat(chunks).subarray(0, headBytesMax);
}
