import semver from "semver";
import { z } from "zod";

import { isRecord } from "../../platform/is-record.ts";
import {
  badFile,
  badName,
  badVersion,
  mismatch,
  type PackageName,
  type PackageVersionName,
} from "../core/coordinates.ts";
import { parseManifest } from "../core/manifest.ts";
import { readTarEntry } from "../core/tarball.ts";

/** github.com/npm/validate-npm-package-name, for new packages. */
const partForm = /^[a-z0-9~-][a-z0-9._~-]*$/;
const lengthMax = 214;
const namesReserved = new Set(["node_modules", "favicon.ico"]);
/** npm takes off the first directory, whatever it is called. */
const manifestFile = { path: /^[^/]+\/package\.json$/, name: "package.json" };

const Manifest = z.object({
  name: z.string(),
  version: z.string(),
  engines: z.object({ node: z.string() }).optional().catch(undefined),
});

/** @param scope with or without its `@` @throws Refusal 422 */
export function npmName(scope: string | undefined, artifactId: string): PackageName {
  const groupId = scope === undefined ? "" : `@${scope.replace(/^@/, "")}`;
  const name = groupId === "" ? artifactId : `${groupId}/${artifactId}`;
  const parts = groupId === "" ? [artifactId] : [groupId.slice(1), artifactId];
  const bad = parts.some((part) => !partForm.test(part)) || namesReserved.has(name);
  if (bad || name.length > lengthMax) {
    throw badName("A name of npm is lower case letters, digits, -, . and _, 214 at most.");
  }
  return { name, groupId, artifactId, key: name };
}

/** Build metadata names no other version: npm leaves it out. @throws Refusal 422 */
export function npmVersion(text: string): PackageVersionName {
  const version = semver.valid(text);
  if (version === null) throw badVersion("This is not a version as semver.org writes them.");
  return { version, key: version };
}

/**
 * What is installed is what the tarball says of itself: it has to be what it is sent as.
 *
 * @returns the required version of Node.js
 * @throws Refusal 422
 */
export async function checkNpmTarball(
  file: string,
  { name }: PackageName,
  { version }: PackageVersionName,
): Promise<string | null> {
  const manifest = parseManifest(
    Manifest,
    await readTarEntry(file, manifestFile),
    manifestFile.name,
  );
  if (manifest.name !== name) throw mismatch("name", name, manifest.name);
  const found = semver.valid(manifest.version);
  if (found === null) throw badFile("The version in package.json is none.");
  if (found !== version) throw mismatch("version", version, found);
  return manifest.engines?.node ?? null;
}

/** Fields of package.json that indexes do not show, or show in their own words. */
const notShown: ReadonlySet<string> = new Set(["readme", "readmeFilename", "dist", "_id", "_rev"]);

/**
 * The package.json of a tarball, as indexes show it. It is what gets installed, so nothing that the client
 * says beside the tarball is believed.
 *
 * @throws Refusal 422
 */
export async function readNpmManifest(
  file: string,
): Promise<
  Readonly<{ name: string; version: string; manifest: Readonly<Record<string, unknown>> }>
> {
  const text = await readTarEntry(file, manifestFile);
  const { name, version: versionText } = parseManifest(Manifest, text, manifestFile.name);
  const version = semver.valid(versionText);
  if (version === null) throw badFile("The version in package.json is none.");
  const shown = Object.entries(JSON.parse(text) as object).filter(
    ([field]) => !notShown.has(field),
  );
  const fields = Object.fromEntries(shown);
  const { bin, scripts, bundledDependencies } = fields;
  const commands = typeof bin === "string" ? { bin: { [name.replace(/^@[^/]+\//, "")]: bin } } : {};
  const bundled =
    bundledDependencies === undefined ? {} : { bundleDependencies: bundledDependencies };
  const installs =
    isRecord(scripts) && ["preinstall", "install", "postinstall"].some((hook) => hook in scripts);
  const hasInstallScript = installs ? { hasInstallScript: true } : {};
  return { name, version, manifest: { ...fields, ...commands, ...bundled, ...hasInstallScript } };
}
