import { badName, badVersion, type PackageName, type PackageVersionName } from "./coordinates.ts";

const nameForm = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const versionForm = /^[A-Za-z0-9][A-Za-z0-9._+~-]*$/;
/** What stands in paths in the place of a version. */
const versionsReserved = new Set(["version-list", "package-file"]);

/** @throws Refusal 422 */
export function genericName(name: string): PackageName {
  if (!nameForm.test(name)) {
    throw badName("A name starts with a letter or digit; dots, dashes and underscores may follow.");
  }
  return { name, groupId: "", artifactId: name, key: name };
}

/** Any text that fits into a path; every spelling is another version. @throws Refusal 422 */
export function plainVersion(version: string): PackageVersionName {
  if (!versionForm.test(version)) {
    throw badVersion("A version starts with a letter or digit; ._+~- may follow.");
  }
  if (versionsReserved.has(version)) throw badVersion("This version cannot be named in a path.");
  return { version, key: version };
}
