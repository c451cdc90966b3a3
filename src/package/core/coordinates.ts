import { PackageFileId, PackageId, PackageVersionId } from "../../events/core/ids.ts";
import type { PackageCoordinates, PackageType } from "../../events/package/version.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { Refusal } from "../../platform/refusal.ts";

/** A package's name, as it was spelled. */
export type PackageName = Readonly<{
  name: string;
  /** Scope, vendor or group; empty where there is none. */
  groupId: string;
  artifactId: string;
  /** Equal for all spellings that the ecosystem takes for the same. */
  key: string;
}>;

export type PackageVersionName = Readonly<{
  version: string;
  /** Equal for all spellings that the ecosystem takes for the same. */
  key: string;
}>;

/** What an uploaded file turned out to be. */
export type PackageFileName = Readonly<{
  packageName: PackageName;
  version: PackageVersionName;
  fileName: string;
  /** The version of the language that its metadata requires. */
  languageVersion: string | null;
}>;

/**
 * Ids follow from names, so that a name is taken by the first append to its stream and is found
 * without a search.
 */
export function packageIdOf(
  registryId: string,
  type: PackageType,
  { key }: PackageName,
): PackageId {
  return PackageId.parse(deterministicId("package", registryId, type, key));
}

export function packageVersionIdOf(
  packageId: PackageId,
  { key }: PackageVersionName,
): PackageVersionId {
  return PackageVersionId.parse(deterministicId("package version", packageId, key));
}

export function packageFileIdOf(versionId: PackageVersionId, fileName: string): PackageFileId {
  return PackageFileId.parse(deterministicId("package file", versionId, fileName));
}

export function coordinatesOf(
  registryId: string,
  packageType: PackageType,
  { packageName, version }: Pick<PackageFileName, "packageName" | "version">,
): PackageCoordinates {
  const packageId = packageIdOf(registryId, packageType, packageName);
  const packageVersionId = packageVersionIdOf(packageId, version);
  const { name, groupId, artifactId } = packageName;
  const ids = { packageId, packageVersionId, registryId, packageType };
  return { ...ids, name, groupId, artifactId, version: version.version };
}

/** Names and versions stand in indexes of the database, whose entries are 2,704 bytes at most. */
const textBytesMax = 512;

/** That what a file is called by can be indexed: no text of it is too long. @throws Refusal 422 */
export function mustBeShort({
  packageName,
  version,
  fileName,
}: Omit<PackageFileName, "languageVersion">): void {
  const { name, groupId, artifactId } = packageName;
  const isLong = (text: string): boolean => Buffer.byteLength(text) > textBytesMax;
  if ([name, groupId, artifactId, fileName].some(isLong)) {
    throw badName(`A name has ${textBytesMax} bytes at most.`);
  }
  if (isLong(version.version)) throw badVersion(`A version has ${textBytesMax} bytes at most.`);
}

export function badName(message: string): Refusal {
  return new Refusal("unprocessable", "package.name_invalid", message);
}

export function badVersion(message: string): Refusal {
  return new Refusal("unprocessable", "package.version_invalid", message);
}

/** What the file says of itself is not what it was sent as. */
export function mismatch(what: string, announced: string, found: string): Refusal {
  const message = `The ${what} is ${announced}, but the file says ${found}.`;
  return new Refusal("unprocessable", "package.file_mismatch", message);
}

export function badFile(message: string): Refusal {
  return new Refusal("unprocessable", "package.file_malformed", message);
}
