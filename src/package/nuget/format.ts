import { parseXml, type XmlElement, XmlRefused } from "../../platform/identity/xml.ts";
import {
  badFile,
  badName,
  badVersion,
  type PackageFileName,
  type PackageName,
  type PackageVersionName,
} from "../core/coordinates.ts";
import { dottedKey } from "../core/dotted-version.ts";
import { readZipEntry } from "../core/zip.ts";
import { isNugetFramework, isNugetRange, isNugetVersion } from "./grammar.ts";

/** learn.microsoft.com/nuget/reference/nuspec: 100 characters at most. */
const idForm = /^\w+(?:[.-]\w+)*$/;
const idLengthMax = 100;
/** Types of packages are compared without case. */
const isOfSymbols = (type: string): boolean => type.toLowerCase() === "symbolspackage";
const manifestFile = { path: /^[^/]+\.nuspec$/i, name: ".nuspec" };
/** A manifest has some dozens; each dependency adds one. */
const elementsMax = 5_000;

/** Ids are compared without case. @throws Refusal 422 */
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
  const key = isNugetVersion(version) ? dottedKey(version.split("+", 1)[0] ?? "") : undefined;
  if (key === undefined) throw badVersion(`'${version}' is not a valid version string.`);
  return { version, key };
}

export function nugetFileName(name: PackageName, version: PackageVersionName): string {
  return `${name.key}.${version.key}.nupkg`;
}

/** What indexes show of a package; texts as its manifest has them. */
export type NuspecDependencies = Readonly<{
  targetFramework?: string;
  dependencies: readonly Readonly<{ id: string; range: string }>[];
}>;

export type NuspecMetadata = Readonly<{
  /** The manifest itself. */
  nuspec: string;
  fields: Readonly<Record<string, string>>;
  dependencyGroups: readonly NuspecDependencies[];
  packageTypes: readonly string[];
  /** As packages of symbols of the old kind do, which nothing else distinguishes from the package itself. */
  holdsPdb: boolean;
}>;

type Nuspec = Readonly<{
  nuspec: string;
  holdsPdb: boolean;
  metadata: XmlElement;
  packageTypes: readonly string[];
  packageName: PackageName;
  version: PackageVersionName;
}>;

async function nuspecIn(file: string): Promise<Nuspec> {
  let holdsPdb = false;
  const seen = (path: string): void => {
    if (path.toLowerCase().endsWith(".pdb")) holdsPdb = true;
  };
  const nuspec = await readZipEntry(file, { ...manifestFile, seen });
  const metadata = child(nuspecOf(nuspec), "metadata");
  const id = metadata && child(metadata, "id")?.textContent?.trim();
  const versionText = metadata && child(metadata, "version")?.textContent?.trim();
  if (!id || !versionText) throw badFile("Its .nuspec names no id or no version.");
  const types = Array.from(metadata.getElementsByTagNameNS("*", "packageType"));
  const packageTypes = types.flatMap((each) => each.getAttribute("name") ?? []);
  const client = metadata.getAttribute("minClientVersion") || "1.0";
  if (!isNugetVersion(client)) throw badFile(`'${client}' is not a valid version string.`);
  const packageName = nugetName(id);
  const of = { packageName, version: nugetVersion(versionText) };
  return { nuspec, holdsPdb, metadata, packageTypes, ...of };
}

/** Which package the symbols of a .snupkg are of. @throws Refusal 422 */
export async function readSymbolsNuspec(
  file: string,
): Promise<Pick<PackageFileName, "packageName" | "version">> {
  const { packageTypes, packageName, version } = await nuspecIn(file);
  if (packageTypes.some(isOfSymbols)) return { packageName, version };
  throw badFile("This is no package of symbols.");
}

/** Which package a .nupkg is of, by the manifest in it, and what indexes show of it. @throws Refusal 422 */
export async function readNuspec(
  file: string,
): Promise<PackageFileName & Readonly<{ metadata: NuspecMetadata }>> {
  const { nuspec, holdsPdb, metadata, ...of } = await nuspecIn(file);
  const { packageTypes, packageName, version } = of;
  if (packageTypes.some(isOfSymbols)) {
    throw badFile("This is a package of symbols, which is pushed as such.");
  }
  const fileName = nugetFileName(packageName, version);
  const shown = fieldNames.flatMap((name) => {
    const text = child(metadata, name)?.textContent?.trim() ?? "";
    return text === "" ? [] : [[name, text.slice(0, fieldLengthMax)] as const];
  });
  return {
    packageName,
    version,
    fileName,
    languageVersion: null,
    metadata: {
      nuspec,
      fields: Object.fromEntries(shown),
      dependencyGroups: dependencyGroupsOf(metadata),
      packageTypes: packageTypes.length === 0 ? ["Dependency"] : packageTypes,
      holdsPdb,
    },
  };
}

/** Fields of a manifest that registrations and search results repeat. */
const fieldNames = [
  "title",
  "authors",
  "description",
  "summary",
  "language",
  "tags",
  "license",
  "licenseUrl",
  "projectUrl",
  "iconUrl",
  "requireLicenseAcceptance",
] as const;
const fieldLengthMax = 16_000;

/** Of groups, each for a framework, or in older manifests without one. @throws Refusal 422 */
function dependencyGroupsOf(metadata: XmlElement): readonly NuspecDependencies[] {
  const all = child(metadata, "dependencies");
  if (all === undefined) return [];
  const named = (parent: XmlElement, name: string) =>
    Array.from(parent.childNodes).filter(({ localName }) => localName === name);
  const dependenciesIn = (parent: XmlElement) =>
    named(parent, "dependency").map((each) => ({
      id: nugetName(each.getAttribute("id") ?? "").name,
      range: each.getAttribute("version") || "(, )",
    }));
  const loose = dependenciesIn(all);
  const groups = named(all, "group").map((group) => {
    const targetFramework = group.getAttribute("targetFramework") ?? "";
    const dependencies = dependenciesIn(group);
    return targetFramework === "" ? { dependencies } : { targetFramework, dependencies };
  });
  return loose.length === 0 ? groups : [{ dependencies: loose }, ...groups];
}

/** That clients can read the lists of dependencies. @throws Refusal 422 */
export function checkNugetDependencies(groups: readonly NuspecDependencies[]): void {
  for (const { targetFramework = "any", dependencies } of groups) {
    if (!isNugetFramework(targetFramework)) {
      throw badFile(`'${targetFramework}' is not a valid target framework.`);
    }
    for (const { id, range } of dependencies) {
      nugetName(id);
      if (isNugetRange(range, compareNuget)) continue;
      throw badFile(`'${range}' is not a valid version range of the dependency '${id}'.`);
    }
  }
}

/** Whether clients that know no SemVer 2 must not see it: dots in the pre-release, build metadata. */
export function isSemVer2(version: string): boolean {
  const dash = version.indexOf("-");
  return version.includes("+") || (dash >= 0 && version.includes(".", dash));
}

/** Whether a bound of the range is such a version. */
export const isSemVer2Range = (range: string): boolean =>
  range
    .replaceAll(/[[\]()\s]/g, "")
    .split(",")
    .some(isSemVer2);

/** As clients expect it in documents: numbers without zeros, case and build metadata kept. */
export function normalizedNuget(version: string): string {
  const [numbers = ""] = /^[\d.]+/.exec(version) ?? [];
  return `${dottedKey(numbers) ?? numbers}${version.slice(numbers.length)}`;
}

/** Whether it is a version for testers. */
export const isPrerelease = (version: string): boolean => /^[^+]*-/.test(version);

/** Order of versions: numbers, then pre-releases before what they lead to (SemVer 2, 11). */
export function compareNuget(a: string, b: string): number {
  const [one, other] = [partsOf(a), partsOf(b)];
  for (let at = 0; at < 4; at += 1) {
    const difference = (one.numbers[at] ?? 0n) - (other.numbers[at] ?? 0n);
    if (difference !== 0n) return difference < 0n ? -1 : 1;
  }
  if (one.labels.length === 0 || other.labels.length === 0) {
    return Math.sign(other.labels.length - one.labels.length);
  }
  return compareLabels(one.labels, other.labels);
}

function partsOf(version: string) {
  const [plain = ""] = version.toLowerCase().split("+", 1);
  const [numbers = "", ...rest] = plain.split("-");
  const labels = rest.join("-");
  return {
    numbers: numbers.split(".").map(BigInt),
    labels: labels === "" ? [] : labels.split("."),
  };
}

function compareLabels(one: readonly string[], other: readonly string[]): number {
  for (let at = 0; at < Math.max(one.length, other.length); at += 1) {
    const [a, b] = [one[at], other[at]];
    if (a === undefined || b === undefined) return a === undefined ? -1 : 1;
    if (a === b) continue;
    const [isNumber, isOther] = [/^\d+$/.test(a), /^\d+$/.test(b)];
    if (isNumber !== isOther) return isNumber ? -1 : 1;
    if (isNumber) {
      if (BigInt(a) === BigInt(b)) continue;
      return BigInt(a) < BigInt(b) ? -1 : 1;
    }
    return a < b ? -1 : 1;
  }
  return 0;
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
