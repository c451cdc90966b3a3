import { mavenBaseVersion } from "./format.ts";

export type MavenFile = Readonly<{ name: string; version: string; at: Date }>;
type Names = Readonly<{ groupId: string; artifactId: string }>;

/** What the metadata of an artifact is made from, of some of its files. */
export type MavenVersions = Readonly<{
  /** Each once. */
  versions: readonly string[];
  latest: string | undefined;
  release: string | undefined;
  changedAt: Date;
  /** Whether one of them is a snapshot, whose builds other files may be of as well. */
  hasSnapshot: boolean;
}>;

const header = '<?xml version="1.0" encoding="UTF-8"?>\n';
/** Before a release, in this order; what is unknown comes after it. */
const qualifiers = ["alpha", "beta", "milestone", "rc", "snapshot", "", "sp"];
const aliases: Readonly<Record<string, string>> = {
  a: "alpha",
  b: "beta",
  m: "milestone",
  cr: "rc",
  ga: "",
  final: "",
  release: "",
};

/** Names of Maven hold no character that XML gives a meaning. */
const tag = (name: string, content: string): string => `<${name}>${content}</${name}>`;

export function mavenVersions(files: readonly MavenFile[]): MavenVersions {
  const versions = [...new Set(files.map(({ version }) => mavenBaseVersion(version)))];
  const released = versions.filter((version) => !version.endsWith("-SNAPSHOT"));
  return {
    versions,
    latest: newestOf(versions),
    release: newestOf(released),
    changedAt: newest(files),
    hasSnapshot: released.length < versions.length,
  };
}

/** As they stand in the metadata. */
export const versionTags = (versions: readonly string[]): string =>
  versions.map((version) => tag("version", version)).join("");

const newestOf = (versions: readonly string[]): string | undefined =>
  [...versions].sort(compareMavenVersions).at(-1);

/** `maven-metadata.xml` of a group. @param plugins as they stand in it */
export const groupMetadata = (plugins: string): string => `${header}${tag("metadata", plugins)}\n`;

/**
 * `maven-metadata.xml` of an artifact up to the versions, and after them.
 *
 * @param plugins of the group that has the path of the artifact
 */
export function artifactMetadata(
  { groupId, artifactId }: Names,
  parts: readonly MavenVersions[],
  plugins = "",
): readonly [head: string, tail: string] {
  const release = newestOf(parts.flatMap((part) => part.release ?? []));
  const changedAt = Math.max(...parts.map((part) => part.changedAt.getTime()));
  const latest = newestOf(parts.flatMap((part) => part.latest ?? [])) ?? "";
  const names = tag("groupId", groupId) + tag("artifactId", artifactId);
  const newestTags = tag("latest", latest) + (release === undefined ? "" : tag("release", release));
  return [
    `${header}<metadata>${names}<versioning>${newestTags}<versions>`,
    `</versions>${tag("lastUpdated", stamp(new Date(changedAt)))}</versioning>${plugins}</metadata>\n`,
  ];
}

/** `maven-metadata.xml` of a snapshot: the newest build of each file; undefined when there is none. */
export function snapshotMetadata(
  artifact: Names & Readonly<{ version: string; files: readonly MavenFile[] }>,
): string | undefined {
  const { groupId, artifactId, version } = artifact;
  // Clients make the names of files from what is listed: it lists none that sbt stores beside them.
  const builds = artifact.files.filter(
    (file) => mavenBaseVersion(file.version) === version && file.name.startsWith(`${artifactId}-`),
  );
  if (builds.length === 0) return undefined;
  const base = version.slice(0, -"-SNAPSHOT".length);
  const latest = new Map<string, MavenFile>();
  for (const file of builds) {
    const suffix = file.name.slice(artifactId.length + 1 + file.version.length);
    const known = latest.get(suffix);
    if (known === undefined || compareBuilds(known.version, file.version) <= 0) {
      latest.set(suffix, file);
    }
  }
  const [, timestamp, buildNumber] = newestBuild(builds, base) ?? [];
  const snapshot =
    timestamp === undefined || buildNumber === undefined
      ? ""
      : tag("snapshot", tag("timestamp", timestamp) + tag("buildNumber", buildNumber));
  const files = [...latest].map(([suffix, file]) => {
    const [, classifier, extension = ""] = /^(?:-([^.]+))?\.(.+)$/.exec(suffix) ?? [];
    const fields = [
      classifier === undefined ? "" : tag("classifier", classifier),
      tag("extension", extension),
      tag("value", file.version),
      tag("updated", stamp(file.at)),
    ];
    return tag("snapshotVersion", fields.join(""));
  });
  const versioning = [
    snapshot,
    tag("lastUpdated", stamp(newest(builds))),
    tag("snapshotVersions", files.join("")),
  ].join("");
  const names = tag("groupId", groupId) + tag("artifactId", artifactId) + tag("version", version);
  const content = names + tag("versioning", versioning);
  return `${header}<metadata modelVersion="1.1.0">${content}</metadata>\n`;
}

const newest = (files: readonly MavenFile[]): Date =>
  new Date(Math.max(...files.map(({ at }) => at.getTime())));

const stamp = (at: Date): string => at.toISOString().replaceAll(/\D/g, "").slice(0, 14);

const buildOf = (version: string): RegExpExecArray | null => /-(\d{8}\.\d{6})-(\d+)$/.exec(version);

function newestBuild(files: readonly MavenFile[], base: string): RegExpExecArray | undefined {
  const found = files
    .filter(({ version }) => version.startsWith(base))
    .sort((a, b) => compareBuilds(a.version, b.version))
    .at(-1);
  return (found && buildOf(found.version)) ?? undefined;
}

function compareBuilds(left: string, right: string): number {
  const [, leftTime = "", leftNumber = "0"] = buildOf(left) ?? [];
  const [, rightTime = "", rightNumber = "0"] = buildOf(right) ?? [];
  if (leftTime !== rightTime) return leftTime < rightTime ? -1 : 1;
  return Number(leftNumber) - Number(rightNumber);
}

/** As Maven orders versions: numbers by value, qualifiers by their meaning. */
export function compareMavenVersions(left: string, right: string): number {
  const [a, b] = [partsOf(left), partsOf(right)];
  for (let index = 0; index < Math.max(a.length, b.length); index += 1) {
    const order = compareParts(a[index] ?? "", b[index] ?? "");
    if (order !== 0) return order;
  }
  return 0;
}

const partsOf = (version: string): readonly string[] =>
  version.toLowerCase().match(/\d+|[a-z]+/g) ?? [];

function compareParts(left: string, right: string): number {
  const [a, b] = [/^\d/.test(left), /^\d/.test(right)];
  if (a && b) return Math.sign(Number(left) - Number(right));
  if (a !== b) {
    // A number beats a qualifier; what is missing counts as zero, or as a release.
    if (a) return right === "" ? Math.sign(Number(left)) : 1;
    return left === "" ? -Math.sign(Number(right)) : -1;
  }
  const rank = (text: string): number => {
    const known = qualifiers.indexOf(aliases[text] ?? text);
    return known < 0 ? qualifiers.length : known;
  };
  return rank(left) - rank(right) || (left < right ? -1 : left > right ? 1 : 0);
}
