import { z } from "zod";

import {
  badName,
  badVersion,
  mismatch,
  type PackageFileName,
  type PackageName,
  type PackageVersionName,
} from "../core/coordinates.ts";
import { dottedKey } from "../core/dotted-version.ts";
import { parseManifest } from "../core/manifest.ts";
import { readZipEntry } from "../core/zip.ts";
import { plainVersion } from "../generic/format.ts";

/** getcomposer.org/doc/04-schema.md#name */
const vendorForm = /^[a-z0-9]+(?:[_.-][a-z0-9]+)*$/;
const packageForm = /^[a-z0-9]+(?:(?:[_.]|-{1,2})[a-z0-9]+)*$/;
/** At the root, or below the one directory that archives of repositories have. */
const manifestFile = { path: /^(?:[^/]+\/)?composer\.json$/, name: "composer.json" };

const Manifest = z.object({
  name: z.string(),
  version: z.string().optional(),
  require: z.object({ php: z.string() }).optional().catch(undefined),
});

/** @throws Refusal 422 */
export function composerName(groupId: string, artifactId: string): PackageName {
  if (!vendorForm.test(groupId) || !packageForm.test(artifactId)) {
    throw badName("A name is vendor/package in lower case letters and digits with ., _ and -.");
  }
  const name = `${groupId}/${artifactId}`;
  return { name, groupId, artifactId, key: name };
}

/** `v1.0` and `1.0.0` are the same version. @throws Refusal 422 */
export function composerVersion(text: string): PackageVersionName {
  const { version } = plainVersion(text);
  return { version, key: dottedKey(version.replace(/^v(?=\d)/i, "")) ?? version.toLowerCase() };
}

export function composerFileName(
  { groupId, artifactId }: PackageName,
  version: PackageVersionName,
) {
  return `${groupId}-${artifactId}-${version.key}.zip`;
}

/**
 * Which package the zip is of, and what indexes show of it: its composer.json, without what would make a
 * client fetch from elsewhere. The version given beside the file wins over the one in its composer.json.
 *
 * @throws Refusal 422
 */
export async function readComposerPackage(
  file: string,
  requestedVersion: string | undefined,
): Promise<PackageFileName & Readonly<{ metadata: Readonly<Record<string, unknown>> }>> {
  const text = await readZipEntry(file, manifestFile);
  const manifest = parseManifest(Manifest, text, manifestFile.name);
  const version = requestedVersion ?? manifest.version;
  if (version === undefined) {
    throw badVersion("Name the version by ?version=, or in composer.json.");
  }
  const all = JSON.parse(text) as Readonly<Record<string, unknown>>;
  const metadata = Object.fromEntries(Object.entries(all).filter(([key]) => !notShown.has(key)));
  return { ...named(manifest, composerVersion(version)), metadata };
}

/** A source makes clients run git; the others name addresses that are not ours, or are set by us. */
const notShown: ReadonlySet<string> = new Set([
  "source",
  "dist",
  "notification-url",
  "transport-options",
  "abandoned",
  "repositories",
  "version",
  "version_normalized",
  "time",
  "uid",
  "scripts",
]);

function named(manifest: z.output<typeof Manifest>, version: PackageVersionName): PackageFileName {
  const [vendor = "", artifact = "", ...more] = manifest.name.split("/");
  if (more.length > 0) throw badName("composer.json names no vendor/package.");
  const packageName = composerName(vendor, artifact);
  const manifestVersion = manifest.version;
  if (manifestVersion !== undefined && composerVersion(manifestVersion).key !== version.key) {
    throw mismatch("version", version.version, manifestVersion);
  }
  const languageVersion = manifest.require?.php ?? null;
  const fileName = composerFileName(packageName, version);
  return { packageName, version, fileName, languageVersion };
}

const classical = /^v?(\d{1,5})(\.\d+)?(\.\d+)?(\.\d+)?/i;
const stabilities: Readonly<Record<string, string>> = {
  a: "alpha",
  b: "beta",
  p: "patch",
  pl: "patch",
  rc: "RC",
};
/** Each run of digits is taken in one way only: otherwise a near miss takes exponential time. */
const suffix = /^[._-]?(?:(stable|beta|b|rc|alpha|a|patch|pl|p)(\d*(?:[.-]\d+)*))?([.-]?dev)?$/i;

/**
 * A version as Composer compares it: four numbers, then the stability; `dev-name` for a branch. What is
 * neither is a branch too. See composer/semver, VersionParser::normalize.
 */
export function normalizedComposerVersion(version: string): string {
  const text = version.trim().replace(/^([^\s+]+)\+\S+$/, "$1");
  if (/^dev-/i.test(text)) return `dev-${text.slice(4)}`;
  const branch = /^v?(\d+)(\.(?:\d+|[xX*]))?(\.(?:\d+|[xX*]))?(\.(?:\d+|[xX*]))?-dev$/.exec(text);
  if (branch !== null && /[xX*]/.test(text)) {
    const parts = branch.slice(1, 5).map((part) => part?.replace(".", "") ?? "x");
    return `${parts.map((part) => (/^\d+$/.test(part) ? part : "9999999")).join(".")}-dev`;
  }
  const numbers = classical.exec(text);
  const rest = numbers && suffix.exec(text.slice(numbers[0].length));
  if (!numbers || !rest) return `dev-${text}`;
  const four = numbers.slice(1, 5).map((part) => part ?? ".0");
  const stability = rest[1]?.toLowerCase();
  const named = stability === undefined || stability === "stable" ? undefined : stability;
  const short = named === undefined ? "" : `-${stabilities[named] ?? named}`;
  const serial = named === undefined ? "" : (rest[2] ?? "").replace(/^[.-]+/, "");
  return `${four.join("")}${short}${serial}${rest[3] === undefined ? "" : "-dev"}`;
}

/** Whether a version is a branch's, which clients look for apart. */
export const isComposerDev = (normalized: string): boolean => /^dev-|-dev$/.test(normalized);
