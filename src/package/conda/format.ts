import { z } from "zod";
import { outsideList } from "../../platform/outside-list.ts";
import {
  badFile,
  badName,
  mismatch,
  type PackageFileName,
  type PackageName,
  type PackageVersionName,
} from "../core/coordinates.ts";
import { parseManifest } from "../core/manifest.ts";
import { manifestText } from "../core/manifest-text.ts";
import { inflated, tarFile } from "../core/small-archive.ts";
import { readZipBytes } from "../core/zip.ts";
import { tarBz2Text } from "./tar-bz2.ts";

/** Of the part with the metadata; real ones have some KiB. */
const compressedBytesMax = 4 * 1024 ** 2;
const inflatedBytesMax = 16 * 1024 ** 2;
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
  const packed = await readZipBytes(file, info, compressedBytesMax);
  const found = await tarFile(await inflated(packed, "zstd", inflatedBytesMax), indexName);
  if (found === undefined) throw badFile(`It holds no ${indexName}.`);
  return manifestText(found, indexName);
}
