import { createReadStream } from "node:fs";
import { blake2b } from "@noble/hashes/blake2.js";

import { badFile, mismatch, type PackageFileName } from "../core/coordinates.ts";
import { readTarEntry } from "../core/tarball.ts";
import { readZipEntry } from "../core/zip.ts";
import { metadataHead, pypiName, pypiVersion } from "./format.ts";
import { checkPythonMetadata } from "./grammar.ts";

const wheelForm = /^(?<name>[^-]+)-(?<version>[^-]+)(?:-\d[^-]*)?-[^-]+-[^-]+-[^-]+\.whl$/;
const sourceForm = /^(?<name>.+)-(?<version>[^-]+)\.tar\.gz$/;
/** No installer takes a wheel without these: packaging.python.org, binary distribution format. */
const wheelMetadata = {
  path: /^[^/]+\.dist-info\/METADATA$/,
  name: "METADATA",
  beside: [
    { path: /^[^/]+\.dist-info\/WHEEL$/, name: "WHEEL" },
    { path: /^[^/]+\.dist-info\/RECORD$/, name: "RECORD" },
  ],
};
/** PEP 706: source archives may hold links that stay inside. */
const sourceMetadata = { path: /^[^/]+\/PKG-INFO$/, name: "PKG-INFO", takesLinks: true };
/** Longer ones are not shown beside the file: it has them itself. */
const metadataLengthMax = 100_000;

export type PypiFile = PackageFileName &
  Readonly<{
    metadata: Readonly<{ requiresPython: string | null; text: string | null }>;
    /** BLAKE2b of 256 bits, which Node.js does not have; undefined when it was not wanted. */
    blake2b256: string | undefined;
  }>;

/**
 * What a wheel or a source archive is of, by its name and by its own metadata, which must agree.
 *
 * @param wantsBlake2b its digest takes a second for each 50 MB or so
 * @throws Refusal 422
 */
export async function readPypiFile(
  file: string,
  fileName: string,
  wantsBlake2b = false,
): Promise<PypiFile> {
  if (!/^[A-Za-z0-9][A-Za-z0-9._+!-]{0,254}$/.test(fileName)) throw badFile("Its name is not one.");
  const isWheel = fileName.endsWith(".whl");
  const nameParts = (isWheel ? wheelForm : sourceForm).exec(fileName)?.groups;
  if (nameParts === undefined) {
    throw badFile("It is named neither like a wheel nor like a source archive (.tar.gz).");
  }
  const text = isWheel
    ? await readZipEntry(file, wheelMetadata)
    : await readTarEntry(file, sourceMetadata);
  const head = metadataHead(text);
  checkPythonMetadata(head);
  const field = (key: string) =>
    new RegExp(`^${key}: *([^\\r\\n]*)`, "im").exec(head)?.[1]?.trim() ?? "";
  const packageName = pypiName(field("Name"));
  const version = pypiVersion(field("Version"));
  // In file names a dash of the name, and a plus of the version, may be an underscore.
  const named = {
    name: nameParts["name"] ?? "",
    version: (nameParts["version"] ?? "").replaceAll("_", "+"),
  };
  if (pypiName(named.name).key !== packageName.key) {
    throw mismatch("project", named.name, packageName.name);
  }
  if (pypiVersion(named.version).key !== version.key) {
    throw mismatch("version", named.version, version.version);
  }
  const requiresPython = field("Requires-Python") || null;
  const shown = isWheel && text.length <= metadataLengthMax ? text : null;
  const metadata = { requiresPython, text: shown };
  const blake2b256 = wantsBlake2b ? await blake2bOf(file) : undefined;
  return { packageName, version, fileName, languageVersion: requiresPython, metadata, blake2b256 };
}

async function blake2bOf(file: string): Promise<string> {
  const hash = blake2b.create({ dkLen: 32 });
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return Buffer.from(hash.digest()).toString("hex");
}
