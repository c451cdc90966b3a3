import semver from "semver";

import { isRecord } from "../../../platform/is-record.ts";
import type { ListedFile } from "../../../projections/package/registry.ts";

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

export type NpmPackage = Readonly<{
  name: string;
  /** Of all versions, oldest first. */
  files: readonly ListedFile[];
  tags: ReadonlyMap<string, string>;
  /** Of the repository that is asked, without a slash at the end. */
  base: string;
}>;

/** The manifest of a version as its package.json says it, with where to fetch it. */
export function manifestOf(file: ListedFile, { name, base }: NpmPackage): Json {
  const { version, sha1, sha512, metadata, deprecation } = file;
  const told: unknown = JSON.parse(metadata ?? "{}");
  const baseName = name.replace(/^@[^/]+\//, "");
  const dist = {
    shasum: sha1,
    integrity: `sha512-${Buffer.from(sha512, "hex").toString("base64")}`,
    tarball: `${base}/${name}/-/${baseName}-${version}.tgz`,
  };
  return {
    ...(isRecord(told) ? told : {}),
    name,
    version,
    _id: `${name}@${version}`,
    dist,
    ...(deprecation !== "" && { deprecated: deprecation }),
  };
}

/** Tags of versions that exist, `latest` always among them. */
export function distTags({ files, tags }: NpmPackage): Readonly<Record<string, string>> {
  const versions = files.map(({ version }) => version);
  const existing = [...tags].filter(([, version]) => versions.includes(version));
  const stable = versions.filter((version) => semver.prerelease(version) === null);
  const [latest] = semver.rsort([...(stable.length > 0 ? stable : versions)]);
  return { ...(latest !== undefined && { latest }), ...Object.fromEntries(existing) };
}

/** All that npm asks of a package; the abbreviated form is enough to install it. */
export function packument(of: NpmPackage, isAbbreviated: boolean): Json {
  const { name, files } = of;
  const manifests = files.map((file) => manifestOf(file, of));
  const modified = new Date(Math.max(0, ...files.map(({ created_at }) => created_at.getTime())));
  const tags = distTags(of);
  if (isAbbreviated) {
    const short = manifests.map((manifest) =>
      Object.fromEntries(
        abbreviated.flatMap((field) => (field in manifest ? [[field, manifest[field]]] : [])),
      ),
    );
    const versions = byVersion(files, short);
    return { name, modified: modified.toISOString(), "dist-tags": tags, versions };
  }
  const created = files[0]?.version_created_at ?? modified;
  const times = files.map((file) => [file.version, file.version_created_at.toISOString()] as const);
  return {
    _id: name,
    _rev: `${files.length}-${modified.getTime()}`,
    name,
    "dist-tags": tags,
    versions: byVersion(files, manifests),
    time: {
      created: created.toISOString(),
      modified: modified.toISOString(),
      ...Object.fromEntries(times),
    },
  };
}

const byVersion = (files: readonly ListedFile[], manifests: readonly Json[]): Json =>
  Object.fromEntries(files.map(({ version }, index) => [version, manifests[index]]));
