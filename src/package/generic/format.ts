import {
  badName,
  badVersion,
  type PackageName,
  type PackageVersionName,
} from "../core/coordinates.ts";

const genericForm = /^[A-Za-z0-9._+~@ -]{1,255}$/;
/** Not `.` or `..`: they would be another path. */
const isGeneric = (text: string): boolean => genericForm.test(text) && !/^\.{1,2}$/.test(text);
const genericRule = "1 to 255 letters, digits, spaces and characters of ._-+~@";
const versionForm = /^[A-Za-z0-9][A-Za-z0-9._+~-]*$/;
/** What stands in paths in the place of a version. */
const versionsReserved = new Set(["version-list", "package-file"]);

/** @throws Refusal 422 */
export function genericName(name: string): PackageName {
  if (!isGeneric(name)) throw badName(`A name has ${genericRule}.`);
  return { name, groupId: "", artifactId: name, key: name };
}

/** Every spelling is another version. @throws Refusal 422 */
export function genericVersion(version: string): PackageVersionName {
  if (!isGeneric(version)) throw badVersion(`A version has ${genericRule}.`);
  if (versionsReserved.has(version)) throw badVersion("This version cannot be named in a path.");
  return { version, key: version };
}

/** Any text that fits into a path; every spelling is another version. @throws Refusal 422 */
export function plainVersion(version: string): PackageVersionName {
  if (!versionForm.test(version)) {
    throw badVersion("A version starts with a letter or digit; ._+~- may follow.");
  }
  if (versionsReserved.has(version)) throw badVersion("This version cannot be named in a path.");
  return { version, key: version };
}
