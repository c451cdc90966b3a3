import { parseXml, type XmlElement, XmlRefused } from "../identity/xml.ts";
import {
  badFile,
  badName,
  badVersion,
  type PackageFileName,
  type PackageName,
  type PackageVersionName,
} from "./coordinates.ts";
import { dottedKey } from "./dotted-version.ts";
import { readZipEntry } from "./zip.ts";

/** learn.microsoft.com/nuget/reference/nuspec: 100 characters at most. */
const idForm = /^\w+(?:[.-]\w+)*$/;
const idLengthMax = 100;
const versionForm = /^\d+(?:\.\d+){0,3}(?:-[0-9a-z.-]+)?(?:\+[0-9a-z.-]+)?$/i;
const manifestFile = { path: /^[^/]+\.nuspec$/i, name: ".nuspec" };
/** A manifest has some dozens; each dependency adds one. */
const elementsMax = 5_000;

/** Ids are told apart without their case. @throws Refusal 422 */
export function nugetName(name: string): PackageName {
  if (!idForm.test(name) || name.length > idLengthMax) {
    throw badName("An id of NuGet is letters, digits and _ between dots and dashes, 100 at most.");
  }
  return { name, groupId: "", artifactId: name, key: name.toLowerCase() };
}

/**
 * learn.microsoft.com/nuget/concepts/package-versioning: zeros at the beginning of numbers, a fourth
 * number of zero, case and build metadata make no other version.
 *
 * @throws Refusal 422
 */
export function nugetVersion(version: string): PackageVersionName {
  const key = versionForm.test(version) ? dottedKey(version.replace(/\+.*$/, "")) : undefined;
  if (key === undefined) throw badVersion("This is not a version as NuGet writes them.");
  return { version, key };
}

export function nugetFileName(name: PackageName, version: PackageVersionName): string {
  return `${name.key}.${version.key}.nupkg`;
}

/** Which package a .nupkg is of, by the manifest in it. @throws Refusal 422 */
export async function readNupkg(file: string): Promise<PackageFileName> {
  const metadata = child(nuspecOf(await readZipEntry(file, manifestFile)), "metadata");
  const id = metadata && child(metadata, "id")?.textContent?.trim();
  const told = metadata && child(metadata, "version")?.textContent?.trim();
  if (!id || !told) throw badFile("Its .nuspec names no id or no version.");
  const types = metadata.getElementsByTagNameNS("*", "packageType");
  const symbols = Array.from(types).some((each) => each.getAttribute("name") === "SymbolsPackage");
  if (symbols) throw badFile("This is a package of symbols, which are not kept here.");
  const packageName = nugetName(id);
  const version = nugetVersion(told);
  const fileName = nugetFileName(packageName, version);
  return { packageName, version, fileName, languageVersion: null };
}

function nuspecOf(text: string): XmlElement {
  try {
    const root = parseXml(text, elementsMax);
    if (root.localName === "package") return root;
  } catch (error) {
    if (!(error instanceof XmlRefused)) throw error;
    throw badFile(`Its .nuspec is refused. ${error.message}`);
  }
  throw badFile("Its .nuspec is no manifest of a package.");
}

/** One of this name among the children themselves: two would be read in two ways. */
function child(parent: XmlElement, name: string): XmlElement | undefined {
  const all = Array.from(parent.childNodes).filter(({ localName }) => localName === name);
  if (all.length > 1) throw badFile(`Its .nuspec has ${name} more than once.`);
  return all[0];
}
