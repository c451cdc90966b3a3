import {
  badFile,
  badName,
  badVersion,
  type PackageFileName,
  type PackageName,
  type PackageVersionName,
} from "../core/coordinates.ts";
import { type RpmHeader, readRpmHeaders } from "./header.ts";

const nameForm = /^[A-Za-z0-9_][A-Za-z0-9._+-]{0,199}$/;
const versionForm = /^(?:(\d{1,9}):)?([A-Za-z0-9._+~^]{1,100})-([A-Za-z0-9._+~^]{1,100})$/;
const architectureForm = /^[a-z0-9_]{1,30}$/i;

/** Numbers of tags: rpm.org, rpmtag.h. */
const tags = {
  ...{ name: 1000, version: 1001, release: 1002, epoch: 1003, summary: 1004, description: 1005 },
  ...{ buildTime: 1006, buildHost: 1007, size: 1009, vendor: 1011, license: 1014, packager: 1015 },
  ...{ group: 1016, url: 1020, architecture: 1022, fileModes: 1030, fileFlags: 1037 },
  ...{ sourceRpm: 1044, changeTimes: 1080, changeNames: 1081, changeTexts: 1082 },
  ...{ directoryIndexes: 1116, baseNames: 1117, directoryNames: 1118, longSize: 5009 },
} as const;
const payloadSizeTag = 1007;

/** Names, flags and versions of each kind of relation. */
const relations = {
  provides: [1047, 1112, 1113],
  requires: [1049, 1048, 1050],
  conflicts: [1054, 1053, 1055],
  obsoletes: [1090, 1114, 1115],
  recommends: [5046, 5048, 5047],
  suggests: [5049, 5051, 5050],
  supplements: [5052, 5054, 5053],
  enhances: [5055, 5057, 5056],
} as const;
export type RpmRelationKind = keyof typeof relations;
export const rpmRelationKinds = Object.keys(relations) as readonly RpmRelationKind[];

export type RpmRelation = Readonly<{
  name: string;
  flags?: "LT" | "GT" | "EQ" | "LE" | "GE";
  epoch?: string;
  ver?: string;
  rel?: string;
  /** Needed before the package is installed. */
  pre?: true;
}>;

/** `d` is a directory, `g` a file that the package owns but does not hold. */
export type RpmListedFile = readonly [path: string, kind: "" | "d" | "g"];
export type RpmChange = readonly [author: string, time: number, text: string];

export type RpmMetadata = Readonly<{
  name: string;
  epoch: number;
  ver: string;
  rel: string;
  architecture: string;
  /** Texts of the package by the name they have in its indexes. */
  texts: Readonly<Record<string, string>>;
  buildTime: number;
  installedBytes: number;
  archiveBytes: number;
  header: readonly [start: number, end: number];
  relations: Readonly<Record<RpmRelationKind, readonly RpmRelation[]>>;
  /** Undefined when they are too many to be kept: the header has them. */
  files?: readonly RpmListedFile[];
  changes: readonly RpmChange[];
}>;

/** Of all that is kept of a package with its other metadata. */
const filesTextMax = 128 * 1024;
const changesMax = 10;
const changeTextMax = 2_000;
const textMax = 16_000;

/** @throws Refusal 422 */
export function rpmName(name: string): PackageName {
  if (!nameForm.test(name)) throw badName("A package's name is letters, digits and ._+-.");
  return { name, groupId: "", artifactId: name, key: name };
}

/** `version-release`, after an epoch other than zero. @throws Refusal 422 */
export function rpmVersion(text: string): PackageVersionName & Readonly<{ epoch: number }> {
  const [, epoch = "0", version, release] = versionForm.exec(text) ?? [];
  if (version === undefined) throw badVersion("This is not a version and release of RPM.");
  const plain = `${version}-${release}`;
  const whole = Number(epoch) === 0 ? plain : `${Number(epoch)}:${plain}`;
  return { version: whole, key: whole, epoch: Number(epoch) };
}

export const rpmFileName = (name: string, version: string, architecture: string): string =>
  `${name}-${version.replace(/^\d+:/, "")}.${architecture}.rpm`;

/** What an .rpm is by its header; the payload is not unpacked. @throws Refusal 422 */
export async function readRpm(
  file: string,
): Promise<PackageFileName & Readonly<{ metadata: RpmMetadata }>> {
  const { isSource, signature, header, start, end } = await readRpmHeaders(file);
  const packageName = rpmName(header.text(tags.name));
  const [epoch = 0] = header.numbers(tags.epoch);
  const [ver, rel] = [header.text(tags.version), header.text(tags.release)];
  const version = rpmVersion(`${epoch}:${ver}-${rel}`);
  const isSourceToo = isSource || header.text(tags.sourceRpm) === "";
  const architecture = isSourceToo ? "src" : header.text(tags.architecture);
  if (!architectureForm.test(architecture)) throw badFile("It names no architecture.");
  const files = rpmFilesOf(header);
  const isShort = JSON.stringify(files).length <= filesTextMax;
  const [archiveBytes = 0] = signature.numbers(payloadSizeTag);
  const [size = 0] = [...header.numbers(tags.longSize), ...header.numbers(tags.size)];
  const metadata = {
    ...{ name: packageName.name, epoch, ver, rel, architecture },
    texts: textsOf(header),
    buildTime: header.numbers(tags.buildTime)[0] ?? 0,
    installedBytes: size,
    archiveBytes,
    header: [start, end],
    relations: Object.fromEntries(
      rpmRelationKinds.map((kind) => [kind, relationsOf(header, kind)]),
    ) as RpmMetadata["relations"],
    ...(isShort && { files }),
    changes: changesOf(header),
  } as const;
  const fileName = rpmFileName(packageName.name, version.version, architecture);
  return { packageName, version, fileName, languageVersion: null, metadata };
}

function textsOf(header: RpmHeader): Readonly<Record<string, string>> {
  const of = (tag: number) => header.text(tag).slice(0, textMax);
  return {
    summary: of(tags.summary),
    description: of(tags.description),
    packager: of(tags.packager),
    url: of(tags.url),
    license: of(tags.license),
    vendor: of(tags.vendor),
    group: of(tags.group),
    buildhost: of(tags.buildHost),
    sourcerpm: of(tags.sourceRpm),
  };
}

/** Of all paths: each names its directory again. */
const pathsLengthMax = 32 * 1024 ** 2;
const directoryMode = 0o040000;
const typeMask = 0o170000;
const ghostFlag = 64;

/** All files of a package, in the order of its header. @throws Refusal 422 */
export function rpmFilesOf(header: RpmHeader): readonly RpmListedFile[] {
  const directories = header.texts(tags.directoryNames);
  const indexes = header.numbers(tags.directoryIndexes);
  const modes = header.numbers(tags.fileModes);
  const flags = header.numbers(tags.fileFlags);
  let length = 0;
  return header.texts(tags.baseNames).map((base, at) => {
    const directory = directories[indexes[at] ?? -1];
    if (directory === undefined) throw badFile("A file of it is in no directory.");
    length += directory.length + base.length;
    if (length > pathsLengthMax) throw badFile("The paths of its files are too long.");
    const isDirectory = ((modes[at] ?? 0) & typeMask) === directoryMode;
    const isGhost = ((flags[at] ?? 0) & ghostFlag) !== 0;
    return [`${directory}${base}`, isDirectory ? "d" : isGhost ? "g" : ""] as const;
  });
}

const comparisons: Readonly<Record<number, NonNullable<RpmRelation["flags"]>>> = {
  2: "LT",
  4: "GT",
  8: "EQ",
  10: "LE",
  12: "GE",
};
const comparisonMask = 14;
/** Legacy prerequisites, and those of scripts that run before and after. */
const preMask = 64 | 512 | 1024;

function relationsOf(header: RpmHeader, kind: RpmRelationKind): readonly RpmRelation[] {
  const [nameTag, flagTag, versionTag] = relations[kind];
  const [flags, versions] = [header.numbers(flagTag), header.texts(versionTag)];
  const seen = new Set<string>();
  return header.texts(nameTag).flatMap((name, at) => {
    const flag = flags[at] ?? 0;
    const comparison = comparisons[flag & comparisonMask];
    const [, epoch = "0", ver = "", rel] =
      /^(?:(\d+):)?([^-]*)(?:-(.*))?$/s.exec(versions[at] ?? "") ?? [];
    const relation: RpmRelation = {
      name,
      ...(comparison !== undefined &&
        ver !== "" && { flags: comparison, epoch, ver, ...(rel !== undefined && { rel }) }),
      ...(kind === "requires" && (flag & preMask) !== 0 && { pre: true }),
    };
    const key = JSON.stringify(relation);
    // What the package manager itself must know of is no package.
    if (seen.has(key) || (kind === "requires" && name.startsWith("rpmlib("))) return [];
    seen.add(key);
    return [relation];
  });
}

function changesOf(header: RpmHeader): readonly RpmChange[] {
  const [names, texts] = [header.texts(tags.changeNames), header.texts(tags.changeTexts)];
  return header
    .numbers(tags.changeTimes)
    .slice(0, changesMax)
    .map((time, at) => [names[at] ?? "", time, (texts[at] ?? "").slice(0, changeTextMax)] as const);
}
