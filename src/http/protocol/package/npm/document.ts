import semver from "semver";
import type { UserId } from "../../../../events/core/ids.ts";
import { isRecord } from "../../../../platform/is-record.ts";
import type { ListedFile } from "../../../../projections/package/registry.ts";
import { joinedParts, type Part, type PartForm } from "../core/part.ts";

import type { Publisher } from "./publisher.ts";

type Json = Readonly<Record<string, unknown>>;

/** What the abbreviated form shows of a version, after npm's own package-metadata.md. */
const abbreviated = [
  "name",
  "version",
  "deprecated",
  "dist",
  "bin",
  "engines",
  "os",
  "cpu",
  "libc",
  "directories",
  "dependencies",
  "devDependencies",
  "optionalDependencies",
  "peerDependencies",
  "peerDependenciesMeta",
  "bundleDependencies",
  "_hasShrinkwrap",
  "hasInstallScript",
] as const;

export type NpmPlace = Readonly<{
  /** Of the package. */
  name: string;
  /** Of the requested repository, without a slash at the end. */
  base: string;
}>;

/** The manifest of a version as its package.json says it, with where to fetch it. */
export function manifestOf(file: ListedFile, { name, base }: NpmPlace): Json {
  const { version, sha1, sha512, metadata, deprecation } = file;
  const manifest: unknown = JSON.parse(metadata ?? "{}");
  const baseName = name.replace(/^@[^/]+\//, "");
  const dist = {
    shasum: sha1,
    integrity: `sha512-${Buffer.from(sha512, "hex").toString("base64")}`,
    tarball: `${base}/${name}/-/${baseName}-${version}.tgz`,
  };
  return {
    ...(isRecord(manifest) ? manifest : {}),
    name,
    version,
    _id: `${name}@${version}`,
    dist,
    ...(deprecation !== "" && { deprecated: deprecation }),
  };
}

/** What a document says of some versions beside the versions themselves. */
export type NpmSummary = Readonly<{
  /** The highest one, and the highest that is no prerelease. */
  highest: string | undefined;
  stable: string | undefined;
  createdAt: string | undefined;
  /** Milliseconds since 1970. */
  modified: number;
  /** Who published them. */
  publisherIds: readonly UserId[];
}>;

export type NpmPart = Part<NpmSummary>;

/** All metadata of versions, or the part that an installation needs; the second text is their times. */
export const npmForm = (place: NpmPlace, isShort: boolean): PartForm<NpmSummary> => ({
  key: `npm:${isShort ? "short" : "full"}:${place.base}`,
  keyOf: ({ version }) => version,
  make(given) {
    const files = firstOfVersions(given);
    const versions = files.map((file) => {
      const manifest = manifestOf(file, place);
      return entry(file.version, isShort ? shortened(manifest) : manifest);
    });
    const times = files.map((file) => entry(file.version, file.version_created_at.toISOString()));
    const texts = [versions.join(","), isShort ? "" : times.join(",")];
    return { texts, summary: summaryOf(files) };
  },
});

const entry = (key: string, value: unknown): string =>
  `${JSON.stringify(key)}:${JSON.stringify(value)}`;

function firstOfVersions(files: readonly ListedFile[]): readonly ListedFile[] {
  const found = new Map<string, ListedFile>();
  for (const file of files) if (!found.has(file.version)) found.set(file.version, file);
  return [...found.values()];
}

const shortened = (manifest: Json): Json =>
  Object.fromEntries(
    abbreviated.flatMap((field) => (field in manifest ? [[field, manifest[field]]] : [])),
  );

function summaryOf(files: readonly ListedFile[]): NpmSummary {
  const versions = files.map(({ version }) => version);
  return {
    highest: highestOf(versions),
    stable: highestOf(versions.filter((version) => semver.prerelease(version) === null)),
    createdAt: files[0]?.version_created_at.toISOString(),
    modified: Math.max(0, ...files.map(({ created_at }) => created_at.getTime())),
    publisherIds: [...new Set(files.flatMap((file) => file.version_created_by_id ?? []))],
  };
}

const highestOf = (versions: readonly string[]): string | undefined =>
  semver.rsort([...versions])[0];

/** Tags of versions that exist, `latest` always among them. */
export function distTags(
  parts: readonly NpmPart[],
  tags: ReadonlyMap<string, string>,
): Readonly<Record<string, string>> {
  const of = (field: "stable" | "highest") =>
    highestOf(parts.flatMap(({ summary }) => summary[field] ?? []));
  const latest = of("stable") ?? of("highest");
  return { ...(latest !== undefined && { latest }), ...Object.fromEntries(tags) };
}

type Whole = Readonly<{
  name: string;
  parts: readonly NpmPart[];
  revision: string;
  /** Of versions that exist. */
  tags: ReadonlyMap<string, string>;
  publishers: readonly Publisher[];
}>;

/** The document of a package, in pieces. */
export function packument(of: Whole, isShort: boolean): readonly (string | Buffer)[] {
  const { name, parts } = of;
  const summaries = parts.map(({ summary }) => summary);
  const modified = new Date(Math.max(0, ...summaries.map((summary) => summary.modified)));
  const tags = { "dist-tags": distTags(parts, of.tags) };
  const versions = ['"versions":{', ...joinedParts(parts, 0, ","), "}"];
  if (isShort) {
    return [opened({ name, modified: modified.toISOString(), ...tags }), ...versions, "}"];
  }
  const created = summaries[0]?.createdAt ?? modified.toISOString();
  const times = opened({ created, modified: modified.toISOString() });
  const maintainers = of.publishers;
  const head = opened({ _id: name, _rev: of.revision, name, ...tags, maintainers });
  return [head, ...versions, ',"time":', times, ...joinedParts(parts, 1, ","), "}}"];
}

/** An object to which more is added: there is always more. */
const opened = (value: Json): string => `${JSON.stringify(value).slice(0, -1)},`;
