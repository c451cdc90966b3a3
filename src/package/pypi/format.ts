import pep440 from "@renovatebot/pep440";

import {
  badFile,
  badName,
  badVersion,
  mismatch,
  type PackageName,
  type PackageVersionName,
} from "../core/coordinates.ts";
import { readZipEntry } from "../core/zip.ts";

/** packaging.python.org/en/latest/specifications/name-normalization */
const nameForm = /^(?:[A-Z0-9]|[A-Z0-9][A-Z0-9._-]*[A-Z0-9])$/i;
const metadataFile = { path: /^[^/]+\.dist-info\/METADATA$/, name: "METADATA" };
const sourceForm = /^(.+)-([^-]+)(?:\.tar\.gz|\.zip)$/;

/** @throws Refusal 422 */
export function pypiName(name: string): PackageName {
  if (!nameForm.test(name)) {
    throw badName("A name starts and ends with a letter or digit; ._- may stand between.");
  }
  return { name, groupId: "", artifactId: name, key: normalised(name) };
}

/** PEP 503: `Foo.Bar` and `foo__bar` are the same project. */
const normalised = (name: string): string => name.replaceAll(/[-_.]+/g, "-").toLowerCase();

/** PEP 440: `v1.0`, `1.0.0` and `1` are the same version. @throws Refusal 422 */
export function pypiVersion(version: string): PackageVersionName {
  // Numbers beyond what a double holds would be taken for one another.
  const clean = /\d{16}/.test(version) ? null : pep440.clean(version);
  if (clean === null) throw badVersion("This is not a version as PEP 440 writes them.");
  const [, epoch = "", release = "", rest = ""] = /^(\d+!)?([\d.]*\d)(.*)$/s.exec(clean) ?? [];
  return { version, key: epoch + withoutZeros(release) + rest.replaceAll(",", ".") };
}

function withoutZeros(release: string): string {
  let end = release.length;
  while (release.endsWith(".0", end)) end -= 2;
  return release.slice(0, end);
}

/**
 * A wheel has to be of the project and version it is sent as, by its name and by its metadata; a
 * source archive by its name. Other files go along with them.
 *
 * @returns the required version of Python
 * @throws Refusal 422
 */
export async function checkPypiFile(
  file: string,
  fileName: string,
  name: PackageName,
  version: PackageVersionName,
): Promise<string | null> {
  if (fileName.endsWith(".whl")) {
    const [distribution = "", found = ""] = fileName.split("-");
    mustMatch({ name: distribution, version: found }, name, version);
    const metadata = await readZipEntry(file, metadataFile);
    const field = (key: string) =>
      new RegExp(`^${key}: *([^\\r\\n]*)`, "im").exec(metadataHead(metadata))?.[1]?.trim();
    const [metadataName, metadataVersion] = [field("Name"), field("Version")];
    if (metadataName === undefined || metadataVersion === undefined) {
      throw badFile("The wheel's METADATA names no project or no version.");
    }
    mustMatch({ name: metadataName, version: metadataVersion }, name, version);
    return field("Requires-Python") || null;
  }
  const [, distribution, found] = sourceForm.exec(fileName) ?? [];
  if (distribution !== undefined && found !== undefined) {
    mustMatch({ name: distribution, version: found }, name, version);
  }
  return null;
}

/** What comes before the first empty line are fields, what follows is a text. */
export const metadataHead = (metadata: string): string => metadata.split(/\r?\n\r?\n/, 1)[0] ?? "";

function mustMatch(
  declared: Readonly<{ name: string; version: string }>,
  name: PackageName,
  version: PackageVersionName,
): void {
  if (normalised(declared.name) !== name.key) throw mismatch("project", name.name, declared.name);
  if (keyOf(declared.version) !== version.key)
    throw mismatch("version", version.version, declared.version);
}

/** In file names a local version is joined by underscores. */
function keyOf(version: string): string | undefined {
  try {
    return pypiVersion(version.replaceAll("_", ".")).key;
  } catch {
    return undefined;
  }
}
