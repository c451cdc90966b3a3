import { z } from "zod";
import { outsideList } from "../outside-list.ts";
import { tarBz2Text } from "./conda/tar-bz2.ts";
import {
  badFile,
  badName,
  mismatch,
  type PackageFileName,
  type PackageName,
  type PackageVersionName,
} from "./coordinates.ts";
import { parseManifest } from "./manifest.ts";
import { readZipBytes } from "./zip.ts";

/** Of the part with the metadata; real ones have some KiB. */
const compressedBytesMax = 4 * 1024 ** 2;
const inflatedBytesMax = 16 * 1024 ** 2;
const tarBlock = 512;
const indexName = "info/index.json";
const firstEnding = ".tar.bz2";

/** Platforms that a channel can have a folder of. */
const subdirForm =
  /^(?:noarch|(?:linux|osx|win|freebsd|emscripten|wasi|zos)-(?:32|64|aarch64|arm64|armv6l|armv7l|ppc64|ppc64le|s390x|riscv32|riscv64|wasm32|z))$/;

/** Of which an empty index is served too. */
export const condaSubdirs = [
  ...["noarch", "linux-64", "linux-aarch64", "linux-ppc64le", "linux-s390x", "osx-64"],
  ...["osx-arm64", "win-64", "win-arm64"],
] as const;

const text = z.string().max(4_000);
const texts = outsideList(text);

/** The record of a package in the index of its platform. */
const Index = z.object({
  name: z.string().regex(/^[a-z0-9_][a-z0-9_.-]*$/),
  version: z.string().regex(/^[A-Za-z0-9_.+!]+$/),
  build: z.string().regex(/^[A-Za-z0-9_.+]+$/),
  subdir: z.string().regex(subdirForm),
  build_number: z.int().nonnegative().catch(0),
  depends: texts.catch([]),
  constrains: texts.optional().catch(undefined),
  arch: text.nullish().catch(undefined),
  platform: text.nullish().catch(undefined),
  noarch: text.optional().catch(undefined),
  license: text.optional().catch(undefined),
  license_family: text.optional().catch(undefined),
  timestamp: z.int().optional().catch(undefined),
  track_features: z.union([text, texts]).optional().catch(undefined),
  features: text.optional().catch(undefined),
  python_site_packages_path: text.optional().catch(undefined),
  purls: texts.optional().catch(undefined),
  extra_depends: z.record(text, texts).optional().catch(undefined),
  flags: texts.optional().catch(undefined),
});

export type CondaPackage = PackageFileName & Readonly<{ metadata: unknown }>;

/** Of the first version of the format; indexes list the two versions apart. */
export const isFirstFormat = (fileName: string): boolean => fileName.endsWith(firstEnding);

/** @throws Refusal 422 unless it is a folder that a channel can have */
export function condaSubdir(text: string): string {
  if (subdirForm.test(text)) return text;
  throw badName("This is not a platform of conda: noarch, linux-64, osx-arm64, win-64, …");
}

/**
 * A channel keeps its files by platform: that is the package here, and each file a version of it, so that a
 * file is found by what its path says.
 *
 * @throws Refusal 422
 */
export function condaNames(
  subdir: string,
  fileName: string,
): Readonly<{ packageName: PackageName; version: PackageVersionName; fileName: string }> {
  const [, name = "", version = ""] =
    /^([a-z0-9_][a-z0-9_.-]*)-([^-]+)-[^-]+\.(?:conda|tar\.bz2)$/.exec(fileName) ?? [];
  if (name === "") throw badName("A file is named {name}-{version}-{build}.conda, or ….tar.bz2.");
  const key = `${condaSubdir(subdir)}/${name}`;
  const packageName = { name, groupId: subdir, artifactId: name, key };
  return { packageName, version: { version, key: fileName }, fileName };
}

/**
 * What a .conda or .tar.bz2 archive is by its own index.json, which its name must agree with.
 *
 * @param subdir what the path says; the index decides when it is undefined
 * @throws Refusal 422
 */
export async function readConda(
  file: string,
  { fileName, subdir }: Readonly<{ fileName: string; subdir: string | undefined }>,
): Promise<CondaPackage> {
  const isFirst = isFirstFormat(fileName);
  const text = await (isFirst ? tarBz2Text(file, indexName) : infoText(file));
  const index = parseManifest(Index, text, indexName);
  const named = `${index.name}-${index.version}-${index.build}${isFirst ? firstEnding : ".conda"}`;
  if (named !== fileName) throw mismatch("file name", fileName, named);
  if (subdir !== undefined && subdir !== index.subdir) {
    throw mismatch("platform", subdir, index.subdir);
  }
  return { ...condaNames(index.subdir, fileName), languageVersion: null, metadata: index };
}

async function infoText(file: string): Promise<string> {
  const info = { path: /^info-[^/]+\.tar\.zst$/, name: "info-….tar.zst" };
  return tarText(await inflated(await readZipBytes(file, info, compressedBytesMax)), indexName);
}

async function inflated(packed: Buffer): Promise<Buffer> {
  // Loaded at the first upload of such a package.
  const { Decompress } = await import("fzstd");
  const parts: Uint8Array[] = [];
  let bytes = 0;
  const stream = new Decompress((part) => {
    bytes += part.length;
    if (bytes > inflatedBytesMax)
      throw badFile(`Its info unpacks to over ${inflatedBytesMax} bytes.`);
    parts.push(part);
  });
  try {
    const step = 64 * 1024;
    for (let at = 0; at < packed.length; at += step) {
      stream.push(packed.subarray(at, at + step), at + step >= packed.length);
    }
  } catch (error) {
    if (error instanceof Error && error.name === "Refusal") throw error;
    throw badFile("Its info is not zstd.");
  }
  return Buffer.concat(parts);
}

/** The text of the one file of this name in a tar archive (POSIX ustar). @throws Refusal 422 */
function tarText(archive: Buffer, name: string): string {
  let found: string | undefined;
  for (let at = 0; at + tarBlock <= archive.length; ) {
    const header = archive.subarray(at, at + tarBlock);
    const path = header.toString("latin1", 0, 100).replace(/\0.*$/s, "");
    if (path === "") break;
    const size = Number.parseInt(header.toString("latin1", 124, 136), 8);
    const end = at + tarBlock + size;
    if (!Number.isSafeInteger(size) || end > archive.length) throw badFile("Its info is cut.");
    if (path === name) {
      if (found !== undefined) throw badFile(`It holds more than one ${name}.`);
      found = archive.toString("utf8", at + tarBlock, end);
    }
    at = at + tarBlock + Math.ceil(size / tarBlock) * tarBlock;
  }
  if (found === undefined) throw badFile(`It holds no ${name}.`);
  return found;
}
